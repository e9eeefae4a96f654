/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_TRAIN_H
#define SURROGATE_TRAIN_H

/* Training of a model on the ranks and the partition of a solver. C99; no MPI in this header.
 *
 *     surrogate_options_set(options, "gradients", "true");
 *     surrogate_plan_create(model, domain, NULL, options, &plan);
 *     surrogate_plan_bind_input(plan, "mobility", "m^2/(Pa s)", &mobility);
 *     surrogate_plan_bind_output(plan, "pressure", "Pa", &pressure);
 *
 *     surrogate_trainer_options_create(&settings);
 *     surrogate_trainer_options_set(settings, "learning_rate", "1e-3");
 *     surrogate_trainer_create(plan, NULL, settings, &trainer);
 *     surrogate_trainer_bind_target(trainer, "pressure", "Pa", &solved);
 *     for (...) {
 *         solve(mobility, solved);                      fills the arrays with the next sample
 *         surrogate_trainer_step(trainer, &report);
 *     }
 *     surrogate_trainer_save_model(trainer, SURROGATE_WEIGHTS, "new.safetensors");
 *
 * A sample may be distributed over ranks (domain parallel: the context of the plan), groups of
 * ranks may work on different samples (data parallel: the context `data_parallel`), or both. With
 * reproducible=true a training is bitwise identical for any number of ranks of a group, partition,
 * number of threads and vector width.
 *
 * The trainer changes the weights of the plan's model: all plans made from that model predict with
 * the new weights from the next run on. It changes the ranges of the card only in
 * surrogate_trainer_widen_ranges.
 *
 * Conventions are as in surrogate.h. "Collective" means all ranks of `data_parallel` (of the plan's
 * context without it), "collective over the plan" the ranks of the plan's context. Errors are the
 * same on all of these ranks; a step that fails leaves weights and optimizer unchanged. Arrays are
 * on the host. A trainer is used by one thread at a time. Since 0.1 */

#include <surrogate/surrogate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings -------------------------------------------------------------------------------- */

/* Settings of a trainer: checked pairs of key and value. */
typedef struct surrogate_trainer_options surrogate_trainer_options;

/* Creates settings that have their defaults; destroy them with surrogate_trainer_options_destroy.
 * Local. Errors: INVALID_ARGUMENT (NULL), NO_MEMORY.
 *
 *   loss             relative_l2 (default)  |prediction - target| / |target| per sample, all
 *                                           outputs together, in the units of the outputs
 *                    mse                    of normalized outputs, mean over points and channels
 *                    weighted_mse           as mse with the point weights as quadrature weights,
 *                                           each output divided by its scale (set_scale), mean over
 *                                           outputs
 *                    gradient_l2            relative_l2 + gradient_weight (e(gx) + e(gy)), where e
 *                                           is the relative error and gx, gy are central
 *                                           differences on the structured grid of set_grid_shape;
 *                                           Darcy's official loss (page
 *                                           reference/training-configuration.md)
 *                    l1                     of outputs divided by their scale (set_scale): weighted
 *                                           mean of the absolute error over points, mean over
 *                                           outputs
 *                    huber                  as l1, with half of the squared error up to huber_delta
 *                                           and huber_delta (|error| - huber_delta / 2) beyond
 *                    l1_w11                 l1 + w11_weight times the weighted mean of |d_lambda
 *                                           e| + |d_theta e|, for grids on the sphere: spectral
 *                                           derivatives of the error e (page
 *                                           reference/families/sphere.md)
 *                    cross_entropy          of classes: the outputs are logits, one per class, the
 *                                           targets are labels (bind_labels). Mean over points
 *                                           with point and class weights, as in PyTorch. A single
 *                                           output is the logit of label 1 against label 0
 *                    focal                  as cross_entropy, with focal_alpha (1 -
 *                                           p)^focal_gamma (-log p) of a point, where p is the
 *                                           probability of its label
 *                    infonce                of embeddings: the outputs are the channels of the
 *                                           embedding of a point, the targets are ids of particles
 *                                           (bind_labels). The end of this comment defines it
 *                    custom                 the caller's own: see surrogate_trainer_forward
 *   huber_delta      > 0, in units of the scale; default 1
 *   w11_weight       >= 0; default 0.1
 *   label_smoothing  0 .. 1: fraction of the target probability that cross_entropy spreads over all
 *                    classes; default 0
 *   focal_alpha      > 0, at most 1: factor of focal, the same for all classes; default 0.25
 *   focal_gamma      >= 0: exponent of focal; default 2
 *   gradient_weight  >= 0; default 0.1
 *   pair_radius      > 0, of infonce: distance below which points are neighbors, in the unit of
 *                    the first two coordinates; default 1
 *   pair_neighbors   1, 2, ..: largest number of neighbors of a point; default 256
 *   pair_random      0 .. 1: random pairs of a training step, as a fraction of the listed pairs;
 *                    default 0.1
 *   similarity       l2_rbf (default)  exp(-r / (2 similarity_width^2)) at distance r
 *                    l2_inverse        1 / (1 + r)
 *                    cosine            of the angle between two embeddings
 *   similarity_width
 *                    > 0: sigma of l2_rbf; default 0.75
 *   temperature      > 0: divisor of similarities; default 0.05
 *   optimizer        adamw (default), adam: adds weight_decay to the gradient, sgd
 *   learning_rate    > 0; default 1e-3
 *   weight_decay     >= 0; default 1e-5. Applies to all weights except biases and the weights of
 *                    norms and embeddings
 *   decay_all        false (default), true: applies to those, too
 *   beta1, beta2     0 .. 1; default 0.9, 0.999
 *   epsilon          > 0; default 1e-8
 *   momentum         0 .. 1, of sgd; default 0
 *   nesterov         false (default), true: Nesterov momentum of sgd
 *   max_grad_norm    scales the gradient down to this norm if it is larger; 0: never; default 1
 *   ema_decay        0 .. 1: decay of the exponential moving average of the weights; 0: none;
 *                    default 0
 *   schedule         constant (default), one_cycle, cosine, plateau, step: multiplies the rate by
 *                    gamma after every step_size optimizer steps
 *   steps            length of one_cycle and cosine in optimizer steps; required by them
 *   warmup           one_cycle: fraction of the steps, default 0.1; others: steps of a linear
 *                    increase of the rate, default 0; cosine: below 1 a fraction of the steps
 *   step_size        1, 2, ..; required by schedule=step
 *   gamma            > 0, at most 1; default 0.1
 *   initial_divisor, final_divisor
 *                    one_cycle: the rate starts at learning_rate / initial_divisor and ends at the
 *                    start's rate / final_divisor; default 1e4, 1e4. cosine: it ends at
 *                    learning_rate / final_divisor
 *   cycle_momentum   true (default), false: one_cycle varies beta1, or the momentum of sgd, between
 *                    0.95 and 0.85
 *   plateau_factor, plateau_patience
 *                    multiplies the rate by plateau_factor after plateau_patience validations
 *                    without a smaller error; default 0.5, 10
 *   noise            >= 0: standard deviation of Gaussian noise on the input fields of training
 *                    samples, independent for each point and field, in units of the field's std on
 *                    the card; default 0. It depends on the seed, the step, the sample's index in
 *                    the step and the point's index in the canonical ordering; points without ids
 *                    must be distinct. Coordinates and integers have none. Noise makes a model that
 *                    steps from its own predictions less sensitive to their errors
 *   dropout          card (default) applies dropout and drop path to training samples, at the rates
 *                    of the card's network, or the official defaults where it sets none; off
 *                    applies none. Masks depend on the seed, the step, the sample's index in the
 *                    step and the ids of the points. Predictions and validations drop nothing
 *   sample           domain (default): the points of a domain are one sample. cloud: each cloud of
 *                    the domain is a sample of its own, a batch of small problems that is computed
 *                    by all threads. The context of the plan has one rank, and its points are in
 *                    the order of their clouds, each of which has some. accumulate counts clouds.
 *                    Steps and losses are the same as with one domain per cloud, in reproducible
 *                    mode bitwise. Validations return means over clouds. Not with dropout, noise, a
 *                    reservoir, gradient_l2, l1_w11, infonce and custom. Since 0.2
 *   accumulate       1, 2, ..: samples of a group whose gradients make one step; default 1
 *   bucket           > 0: gradients of a step are reduced over ranks in messages of about this many
 *                    bytes while the backward pass of its last sample continues (step,
 *                    reservoir_step); default 1048576
 *   max_nonfinite_steps
 *                    0, 1, ..: skips a step whose loss or gradient is not finite; one more such
 *                    step in succession is an error; default 0
 *   reservoir        capacity of surrogate_trainer_reservoir_add in samples; default 0
 *   seed             of the reservoir's choices, of noise, of dropout and of random
 *                    pairs; default 0
 *
 * infonce. In each cloud, points are neighbors if their distance in the first two coordinates is
 * below pair_radius and one of them is among the pair_neighbors nearest of the other (equal
 * distances by index; the azimuth is not periodic). The listed pairs of a particle of two or more
 * points are its points with one another and with all neighbors of any of them, in both
 * directions. A pair is positive if its two points have the same id and weight 1
 * (surrogate_trainer_set_point_weights, 1 or 0; in the authors' recipe 1 if the particle is
 * reconstructable and its transverse momentum is above 0.9 GeV), otherwise negative: points of
 * weight 0, or of no particle, still are the second points of negative pairs. A training step adds
 * pair_random times as many pairs of random points of the cloud, in both directions (a listed pair
 * then counts twice); validations do not. With t the similarity of a pair divided by temperature,
 * the loss is the mean over particles of the mean over their positive pairs (u, v) of
 *
 *     log(1 + sum over negative pairs (u, n) of exp(t_un) / exp(t_uv))
 *
 * The coordinates are the first two coordinates among the inputs of the card, or axes 0 and 1 of
 * the domain: HEPT's pseudorapidity and azimuth. Pairs are made again when points, labels or
 * weights have changed. Their memory grows with the largest sample: 10 bytes per pair of which a
 * point has weight 1, and 8 pair_neighbors bytes per point. A sample is on one rank; groups of one
 * rank train on different samples. Results are bitwise identical for any number of threads and
 * groups; with ids, or reproducible=true, also for any order of the points. */
SURROGATE_API surrogate_status
surrogate_trainer_options_create(surrogate_trainer_options** training);

/* Sets one setting, which it checks at once. Local. Errors: UNKNOWN_NAME (the text lists near
 * misses), INVALID_ARGUMENT (a value that the key does not accept). */
SURROGATE_API surrogate_status surrogate_trainer_options_set(surrogate_trainer_options* training,
                                                             const char* key, const char* value);

/* Frees settings; trainers keep their copy. Local. Errors: none. */
SURROGATE_API void surrogate_trainer_options_destroy(surrogate_trainer_options** training);

/* ---- trainer --------------------------------------------------------------------------------- */

/* Optimizer, schedule and losses of one model in training. */
typedef struct surrogate_trainer surrogate_trainer;

/* Creates a trainer of the plan's model. Collective. The plan has gradients=true or recompute and
 * must outlive the trainer, which keeps its model and contexts.
 *   data_parallel  all ranks that train this model together: the plan's context is a part of it, a
 *                  group. Each group has loaded the same model, which is checked. NULL: the plan's
 *                  context
 *   settings       copied; NULL: all defaults
 * Errors: INVALID_ARGUMENT (NULL where it is not allowed; a plan without gradients; contradictory
 * settings; groups that disagree), NOT_SUPPORTED (loss and domain; outputs at the nodes of a
 * network; with outputs of one row per cloud loss=gradient_l2, loss=infonce and a reservoir;
 * infonce and a group of several ranks), NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_trainer_create(surrogate_plan* plan,
                                                        surrogate_context* data_parallel,
                                                        const surrogate_trainer_options* settings,
                                                        surrogate_trainer** trainer);

/* Binds the target of an output: the values that the plan should predict. Local. Shape, unit and
 * order of the array are as in surrogate_plan_bind_output; every step reads it until it is bound
 * again. Inputs are bound on the plan. If an output has one row per cloud (SURROGATE_ON_CLOUDS), so
 * has its target, the same on all ranks. Errors: as surrogate_plan_bind_input; INVALID_ARGUMENT
 * (loss=cross_entropy, focal, custom). */
SURROGATE_API surrogate_status surrogate_trainer_bind_target(surrogate_trainer* trainer,
                                                             const char* name, const char* unit,
                                                             const surrogate_array* array);

/* Binds the target of an output in a block of a larger array, see surrogate_trainer_bind_target.
 * Local. Errors: as surrogate_plan_bind_input_block; INVALID_ARGUMENT (loss=cross_entropy, focal,
 * custom). */
SURROGATE_API surrogate_status surrogate_trainer_bind_target_block(surrogate_trainer* trainer,
                                                                   const char* name,
                                                                   const char* unit,
                                                                   const surrogate_block* block);

/* Label of a point without a class or particle. Since 0.2 */
enum {
    SURROGATE_IGNORED_LABEL = -100 /* losses and errors leave the point out, as in PyTorch */
};

/* Binds the labels of the points. Local. Every step reads the array until it is bound again. With
 * loss=cross_entropy and focal they are classes: class c is output c of the card, whose mean is 0
 * and std is 1. If the card has one output, it is the logit of class 1 of two; the output of HEPT's
 * task pileup is its probability. With loss=infonce they are ids of particles, the same id for all
 * points of a particle.
 *   labels  [n_local, 1] of the output domain, int32 or int64. Classes: 0 .. n_class - 1. Ids: 0,
 *           1, .. in any order. SURROGATE_IGNORED_LABEL: a point to ignore, or of no particle.
 *           [n_clouds, 1], the same on all ranks, if outputs have one row per cloud
 * Errors: INVALID_ARGUMENT (another loss), SHAPE. Labels that are not classes, and negative ids,
 * are errors of the step. Since 0.2 */
SURROGATE_API surrogate_status surrogate_trainer_bind_labels(surrogate_trainer* trainer,
                                                             const surrogate_array* labels);

/* Sets the weights of classes in loss=cross_entropy and focal, such as inverse frequencies. The
 * loss of a point is multiplied by the weight of its label, and the mean is divided by the sum of
 * these weights. Local.
 *   weights  [n_weights], one per output of the card, or one of each label, 0 and 1, if it has one
 *            output; >= 0, not all 0; copied. Default: 1
 * Errors: INVALID_ARGUMENT (another loss; a weight), SHAPE (n_weights). Since 0.2 */
SURROGATE_API surrogate_status surrogate_trainer_set_class_weights(surrogate_trainer* trainer,
                                                                   const double* weights,
                                                                   int64_t n_weights);

/* Binds the derivatives of the caller's own loss with respect to an output, for loss=custom. Local.
 * Every surrogate_trainer_backward reads the array.
 *   unit   of the output: the derivatives are in units of the loss per this unit; NULL: the
 *          unit on the card
 *   array  shape and order as in surrogate_plan_bind_output
 * Errors: as surrogate_plan_bind_input; INVALID_ARGUMENT (another loss). Since 0.2 */
SURROGATE_API surrogate_status surrogate_trainer_bind_gradient(surrogate_trainer* trainer,
                                                               const char* name, const char* unit,
                                                               const surrogate_array* array);

/* Binds the derivatives with respect to an output in a block of a larger array, see
 * surrogate_trainer_bind_gradient. Local. Errors: as surrogate_plan_bind_input_block;
 * INVALID_ARGUMENT (another loss). Since 0.2 */
SURROGATE_API surrogate_status surrogate_trainer_bind_gradient_block(surrogate_trainer* trainer,
                                                                     const char* name,
                                                                     const char* unit,
                                                                     const surrogate_block* block);

/* Sets the weights of points in losses and errors, such as areas or volumes. Local.
 *   weights  [n_local, 1] of the output domain, >= 0, copied; NULL: all equal. With loss=infonce 1
 *            for points that may be in positive pairs, otherwise 0
 * Errors: SHAPE, NOT_FINITE, INVALID_ARGUMENT (negative; infonce: neither
 * 0 nor 1; outputs with one row per cloud). */
SURROGATE_API surrogate_status surrogate_trainer_set_point_weights(surrogate_trainer* trainer,
                                                                   const surrogate_array* weights);

/* Sets the divisor of the errors of an output in weighted_mse, l1, huber and l1_w11, in the
 * output's unit; default: its std on the card. Local. Errors: UNKNOWN_NAME, INVALID_ARGUMENT (scale
 * not positive; loss=cross_entropy, focal, custom). */
SURROGATE_API surrogate_status surrogate_trainer_set_scale(surrogate_trainer* trainer,
                                                           const char* output, double scale);

/* Declares for gradient_l2 that the points of all ranks are a structured grid of n_x by n_y points,
 * of which (i, j) has index i * n_y + j in the canonical ordering (by global ids, else by
 * coordinates). Local. Errors: SHAPE. */
SURROGATE_API surrogate_status surrogate_trainer_set_grid_shape(surrogate_trainer* trainer,
                                                                int64_t n_x, int64_t n_y);

/* Adds the gradient of the sample in the bound arrays to the current step. Collective. Writes the
 * prediction to the outputs that are bound on the plan; they may be unbound.
 *   loss  of the sample; may be NULL
 * Errors: INVALID_ARGUMENT (inputs or targets unbound), NOT_FINITE (input, target; a relative loss
 * of a target that is zero everywhere; infonce without a positive pair), and the errors of
 * surrogate_plan_run. */
SURROGATE_API surrogate_status surrogate_trainer_accumulate(surrogate_trainer* trainer,
                                                            double* loss);

/* Evaluates the bound inputs for a loss of the caller's own (loss=custom), and writes the
 * prediction to the outputs bound on the plan, all of which must be bound. Then the caller
 * computes its loss and the derivatives in the arrays of surrogate_trainer_bind_gradient, and calls
 * surrogate_trainer_backward; no other call on the plan may come between the two. Collective.
 *
 *     surrogate_trainer_forward(trainer);
 *     loss = my_loss(prediction, derivative);
 *     surrogate_trainer_backward(trainer, loss);
 *     surrogate_trainer_apply(trainer, &report);
 *
 * If a prediction is not finite although all inputs are, the call succeeds, and
 * surrogate_trainer_apply treats the step as max_nonfinite_steps says.
 * Errors: INVALID_ARGUMENT (another loss; inputs or outputs unbound), NOT_FINITE (input), and the
 * errors of surrogate_plan_run. Since 0.2 */
SURROGATE_API surrogate_status surrogate_trainer_forward(surrogate_trainer* trainer);

/* Runs the backward pass of the sample of surrogate_trainer_forward with the bound derivatives, and
 * adds the gradient to the current step. Collective.
 *   loss  of the sample, the same on all ranks of the plan; used in reports only
 * Errors: INVALID_ARGUMENT (another loss; no forward before; derivatives unbound), NOT_FINITE
 * (derivatives). After an error the derivatives may be corrected and the call repeated. Since
 * 0.2 */
SURROGATE_API surrogate_status surrogate_trainer_backward(surrogate_trainer* trainer, double loss);

/* Result of a step. */
typedef struct surrogate_step_report {
    int64_t step;         /* optimizer steps so far, including this one */
    int64_t samples;      /* samples of this step, over all groups */
    double loss;          /* mean over the samples, before the step */
    double gradient_norm; /* before clipping */
    double learning_rate; /* of the schedule in this step */
    double beta1;         /* of the schedule in this step; the momentum of sgd */
    int32_t was_skipped;  /* 1: loss or gradient not finite; weights are unchanged */
    int32_t reserved;     /* 0 */
} surrogate_step_report;

/* Makes an optimizer step with the mean gradient of all samples accumulated since the last step, on
 * all groups. Collective.
 *   report  may be NULL
 * Errors: INVALID_ARGUMENT (no group has accumulated a sample), NOT_FINITE
 * (max_nonfinite_steps). */
SURROGATE_API surrogate_status surrogate_trainer_apply(surrogate_trainer* trainer,
                                                       surrogate_step_report* report);

/* Accumulates the bound sample, and makes the optimizer step after every `accumulate` samples
 * (otherwise report->samples is 0). Collective.
 *   report  may be NULL
 * Errors: as surrogate_trainer_accumulate and surrogate_trainer_apply. */
SURROGATE_API surrogate_status surrogate_trainer_step(surrogate_trainer* trainer,
                                                      surrogate_step_report* report);

/* Returns loss and errors of the bound sample without training on it. Collective over the plan.
 *   loss   may be NULL
 *   error  [n_output of the card] relative L2 error of each output in its unit, with the point
 *          weights if they are set; with cross_entropy and focal the fraction of the points of
 *          each class that are predicted as another class (with one output: of all points), NaN
 *          for a class without points; with infonce NaN: channels of an embedding have no error;
 *          may be NULL
 * Errors: as surrogate_trainer_accumulate. */
SURROGATE_API surrogate_status surrogate_trainer_validate(surrogate_trainer* trainer, double* loss,
                                                          double* error);

/* Adds the loss of a sample that the caller has validated with its own loss (loss=custom; evaluate
 * with surrogate_plan_run) to the current validation. Collective over the plan.
 *   loss  the same on all ranks of the plan
 * Errors: INVALID_ARGUMENT (another loss), NO_MEMORY. Since 0.2 */
SURROGATE_API surrogate_status surrogate_trainer_add_validation_loss(surrogate_trainer* trainer,
                                                                     double loss);

/* Ends a validation. Collective. Keeps the current weights as SURROGATE_BEST if the mean loss is
 * the smallest so far, and passes it to schedule=plateau.
 *   mean_loss  mean over all samples that surrogate_trainer_validate has seen on all groups since
 *              the last call; may be NULL
 *   is_best    1: the smallest so far; may be NULL
 * Errors: INVALID_ARGUMENT (no sample was validated). */
SURROGATE_API surrogate_status surrogate_trainer_end_validation(surrogate_trainer* trainer,
                                                                double* mean_loss,
                                                                int32_t* is_best);

/* ---- reservoir of samples -------------------------------------------------------------------- */

/* Copies the bound inputs and targets into the reservoir of `reservoir` samples. When it is full a
 * random choice keeps every sample ever added with equal probability. Collective.
 *   n_kept  samples now in the reservoir; may be NULL
 * Errors: INVALID_ARGUMENT (capacity 0; inputs or targets unbound), NOT_FINITE, NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_trainer_reservoir_add(surrogate_trainer* trainer,
                                                               int64_t* n_kept);

/* Makes n_steps optimizer steps, each on `accumulate` samples drawn from the reservoir. Collective.
 * The bound arrays are not read.
 *   report  of the last step, with the mean loss of all; may be NULL
 * Errors: INVALID_ARGUMENT (the reservoir is empty), NOT_FINITE (max_nonfinite_steps), and the
 * errors of surrogate_plan_run. */
SURROGATE_API surrogate_status surrogate_trainer_reservoir_step(surrogate_trainer* trainer,
                                                                int64_t n_steps,
                                                                surrogate_step_report* report);

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Extends the ranges (min, max) on the card of the trainer's model to the values in the training
 * samples: of each input field to its smallest and largest value, of each output to the extremes
 * of the targets, over all steps since the trainer was created (including steps before its
 * checkpoint). Collective, with one reduction of two numbers per field. Only this function changes
 * ranges: its caller states that the model is valid there.
 *   - Values of all ranks count as they were bound, without noise. Steps that were skipped or have
 *     failed, samples that stayed in the reservoir, validations, and targets at points of weight 0
 *     do not count.
 *   - With loss=custom, cross_entropy, focal and infonce ranges of outputs stay.
 *   - Ranges that are not on the card are not added; coordinates and pooled statistics stay.
 *   - All plans of the model, of any thread, use the new ranges from their next run on, time loops
 *     from their next step on. surrogate_model_save, _save_model, _input, _output, _describe and
 *     _hash return them. None of these, and no run that was only enqueued (surrogate_plan_wait),
 *     may be in progress during the call.
 *   n_widened  number of fields whose range has changed; may be NULL
 * Errors: as for a reduction; the ranges are unchanged then. Since 0.1 */
SURROGATE_API surrogate_status surrogate_trainer_widen_ranges(surrogate_trainer* trainer,
                                                              int32_t* n_widened);

/* ---- files ----------------------------------------------------------------------------------- */

/* Weights of a training that a model file may receive. */
enum {
    SURROGATE_WEIGHTS = 0, /* the current ones */
    SURROGATE_EMA = 1,     /* their exponential moving average (ema_decay) */
    SURROGATE_BEST = 2     /* those with the smallest error of the validations */
};

/* Writes a model file as surrogate_model_save does. Collective; rank 0 of `data_parallel` writes.
 *   which  SURROGATE_WEIGHTS, SURROGATE_EMA or SURROGATE_BEST
 *   card   JSON that replaces the model's card (of the same network), or NULL
 * Errors: INVALID_ARGUMENT (no average, no validation so far), BAD_FILE (card), IO. */
SURROGATE_API surrogate_status surrogate_trainer_save_model(surrogate_trainer* trainer,
                                                            int32_t which, const char* card,
                                                            const char* path);

/* Writes a checkpoint from which a training continues with bitwise identical results: weights in
 * double, average, best weights, moments, schedule, counters, reservoir, ranges of the card, and
 * ranges of the values so far (which checkpoints of the first versions lack; they then start with
 * the next step). Collective; not between accumulate and apply. The file is renamed into place when
 * it is complete; an earlier one is unchanged until then.
 *   note  text kept with it, such as the position in the data set; or NULL
 * Errors: IO, INVALID_ARGUMENT. */
SURROGATE_API surrogate_status surrogate_trainer_save(surrogate_trainer* trainer, const char* note,
                                                      const char* path);

/* Restores a checkpoint; of a reproducible training also on another number of ranks. Collective.
 * Errors: IO, BAD_FILE, INVALID_ARGUMENT (with a list of all differences in model and settings);
 * nothing is changed then. */
SURROGATE_API surrogate_status surrogate_trainer_restore(surrogate_trainer* trainer,
                                                         const char* path);

/* Returns the note of the last restored checkpoint through (text, n_text). Local. Errors: SHAPE
 * (the buffer is too small), INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status surrogate_trainer_note(const surrogate_trainer* trainer, char* text,
                                                      int64_t* n_text);

/* Returns a table for a log through (text, n_text): parameters, samples per step, memory of
 * gradients and moments, saved activations per point, bytes per step and rank by formula. Local.
 * Errors: SHAPE (the buffer is too small), INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status surrogate_trainer_describe(const surrogate_trainer* trainer,
                                                          char* text, int64_t* n_text);

/* Returns a counter of this rank:
 *   bytes_sent       payload sent by the last step
 *   collectives      collective calls of the last step
 *   steps            optimizer steps so far
 *   bytes            memory of gradients, moments, reservoir and work arrays
 *   samples_offered  samples added to the reservoir so far
 *   samples_stored   samples now in the reservoir
 * Local. Errors: UNKNOWN_NAME (lists the keys). */
SURROGATE_API surrogate_status surrogate_trainer_counter(const surrogate_trainer* trainer,
                                                         const char* key, int64_t* value);

/* Frees a trainer; the model keeps its weights. Local. Accepts NULL and sets the handle to NULL.
 * Errors: none. */
SURROGATE_API void surrogate_trainer_destroy(surrogate_trainer** trainer);

/* Creates a model for training from a card (page reference/model-file.md), with initial weights
 * drawn as in the family's official code. Collective; rank 0 draws, and only its card and seed
 * count: other ranks may pass NULL.
 *   card  JSON
 *   seed  of the random numbers
 * Errors: BAD_FILE (card), NOT_SUPPORTED (family), NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_model_initialize(surrogate_context* context,
                                                          const char* card, int64_t seed,
                                                          surrogate_model** model);

/* Creates a model as surrogate_model_initialize does, and multiplies the weights of the layer that
 * returns the outputs by output_scale. Collective; rank 0's value counts. A network that adds its
 * output to its input, such as an emulator of short steps, trains faster if it starts near "no
 * change": 0.05, for instance.
 *   output_scale  > 0
 * Errors: as surrogate_model_initialize; INVALID_ARGUMENT (output_scale), NOT_SUPPORTED (a
 * network without such a layer). Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_initialize_scaled(surrogate_context* context,
                                                                 const char* card, int64_t seed,
                                                                 double output_scale,
                                                                 surrogate_model** model);

#ifdef __cplusplus
}
#endif

#endif
