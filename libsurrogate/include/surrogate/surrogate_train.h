/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_TRAIN_H
#define SURROGATE_TRAIN_H

/* Training a model on the ranks and the partition that a solver has. C99; no MPI in this header.
 *
 *     surrogate_options_set(options, "gradients", "true");
 *     surrogate_plan_create(model, domain, NULL, options, &plan);
 *     surrogate_plan_bind_input(plan, "mobility", "m^2/(Pa s)", &mobility);
 *     surrogate_plan_bind_output(plan, "pressure", "Pa", &pressure);
 *
 *     surrogate_trainer_options_create(&training);
 *     surrogate_trainer_options_set(training, "learning_rate", "1e-3");
 *     surrogate_trainer_create(plan, NULL, training, &trainer);
 *     surrogate_trainer_bind_target(trainer, "pressure", "Pa", &solved);
 *     for (...) {
 *         solve(mobility, solved);                      the arrays hold the next sample
 *         surrogate_trainer_step(trainer, &report);
 *     }
 *     surrogate_trainer_save_model(trainer, SURROGATE_WEIGHTS, "new.safetensors");
 *
 * A sample may be spread over ranks (domain parallel: the plan's context), groups of ranks may work
 * on different samples (data parallel: the context `data_parallel`), or both. With
 * reproducible=true the whole training has the same bits for any number of ranks of a group,
 * partition, threads and vector width.
 *
 * The trainer changes the weights of the plan's model: all plans made from that model predict with
 * the new ones from the next run on. It changes the ranges of its card when told to (widen_ranges).
 * Everything here is collective over the context that the trainer works across ranks, unless it
 * says "local", with the conventions of surrogate.h. Errors are the same on all ranks; a step that
 * fails leaves weights and optimiser as they were. Arrays lie on the host. One thread at a time.
 * Since 0.1 */

#include <surrogate/surrogate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings
 * --------------------------------------------------------------------------------- */

typedef struct surrogate_trainer_options surrogate_trainer_options;

/* Key = value pairs, checked when set; unknown keys list near misses.
 *   loss             relative_l2 (default)   of each sample, all outputs together, on predictions
 *                                            in their units: |prediction - target| / |target|
 *                    mse             of normalised outputs, mean over points and channels
 *                    weighted_mse         the same with the weights of points as shares, each
 *                                            output divided by its scale (set_scale), mean over
 *                                            outputs
 *                    gradient_l2             relative_l2 + gradient_weight (e(gx) + e(gy)), where
 *                                            gx, gy are central differences on the lattice of
 *                                            set_lattice; Darcy's official loss (page
 *                                            reference/training-configuration.md)
 *   gradient_weight   >= 0; default 0.1
 *   optimizer        adamw (default), adam   adam: weight_decay is added to the gradient
 *   learning_rate    > 0; default 1e-3
 *   weight_decay     >= 0; default 1e-5. Every weight but biases and weights of norms and
 *                    embeddings
 *   decay_all        false (default), true: those too
 *   beta1, beta2     0 .. 1; default 0.9, 0.999
 *   epsilon          > 0; default 1e-8
 *   max_grad_norm             gradients longer than this are shortened to it; 0: never; default 1
 *   average          0 .. 1: decay of the exponential average of weights; 0: none; default 0
 *   schedule         constant (default), one_cycle, cosine, plateau
 *   steps            length of one_cycle and cosine in optimiser steps; needed for them
 *   warmup           one_cycle: share of the steps, default 0.1; constant, cosine, plateau: steps
 *                    in which the rate rises linearly, default 0
 *   initial_divisor, final_divisor   one_cycle: rate at the start is learning_rate / the first, at
 *                    the end the start's / the second; default 1e4, 1e4. cosine: end is
 *                    learning_rate / final_divisor
 *   cycle_momentum   true (default), false: one_cycle moves beta1 between 0.95 and 0.85
 *   plateau_factor, plateau_patience   the rate is multiplied by the first when so many validations
 *                    have brought no better error; default 0.5, 10
 *   noise            >= 0: Gaussian noise on the input fields of samples that are learnt from, on
 *                    each point and field its own, in deviations (std on the card) of the field. It
 *                    follows from the seed, the step, the sample's place in it and the point's in
 *                    the canonical order; points without ids must differ. Coordinates and integers
 *                    have none. A model that steps from its own predictions learns to forget their
 *                    errors; default 0
 *   accumulate       1, 2, ..: samples of a group whose gradients make one step; default 1
 *   bucket           bytes: gradients of a step cross ranks in parts of about as many, while the
 *                    last of its samples still goes back (step, step_kept); default 1048576
 *   max_nonfinite_steps    0, 1, ..: a step whose loss or gradients are not finite is left out; the
 *                    next one in a row after so many is an error; default 0
 *   reservoir        samples that surrogate_trainer_reservoir_add() keeps at most; default 0
 *   seed             of the reservoir's choices and of noise; default 0 */
SURROGATE_API surrogate_status
surrogate_trainer_options_create(surrogate_trainer_options** training);
SURROGATE_API surrogate_status surrogate_trainer_options_set(surrogate_trainer_options* training,
                                                             const char* key, const char* value);
SURROGATE_API void surrogate_trainer_options_destroy(surrogate_trainer_options** training);

/* ---- trainer
 * ---------------------------------------------------------------------------------- */

typedef struct surrogate_trainer surrogate_trainer;

/* A trainer of the plan's model. The plan was made with gradients=true or recompute; it must live
 * as long as the trainer, which keeps its model and contexts.
 *   data_parallel  all ranks that train this model together: the plan's context is a part of it, a
 *             group. Each group loaded the same model, which is checked. NULL: the plan's own
 *             context
 *   settings  copied; NULL: all defaults
 * Errors: INVALID_ARGUMENT (NULL where it is not allowed; a plan without gradients; settings that
 * contradict each other; groups that disagree), NOT_SUPPORTED (loss and domain), NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_trainer_create(surrogate_plan* plan,
                                                        surrogate_context* data_parallel,
                                                        const surrogate_trainer_options* settings,
                                                        surrogate_trainer** trainer);

/* The target of an output: what the plan should have predicted, in the array's own order, unit
 * checked as in surrogate_plan_bind_output. Read by every step until bound again; a plan's inputs
 * are bound on the plan. Local. */
SURROGATE_API surrogate_status surrogate_trainer_bind_target(surrogate_trainer* trainer,
                                                             const char* name, const char* unit,
                                                             const surrogate_array* array);

SURROGATE_API surrogate_status surrogate_trainer_bind_target_block(surrogate_trainer* trainer,
                                                                   const char* name,
                                                                   const char* unit,
                                                                   const surrogate_block* block);

/* Shares of points in losses: areas or volumes, not negative, [n_local, 1], copied. NULL: all
 * alike. Local. Errors: SHAPE, NOT_FINITE, INVALID_ARGUMENT (negative). */
SURROGATE_API surrogate_status surrogate_trainer_set_point_weights(surrogate_trainer* trainer,
                                                                   const surrogate_array* weights);

/* weighted_mse: what errors of an output are divided by, in its unit; default its std on the card.
 * Local. */
SURROGATE_API surrogate_status surrogate_trainer_set_scale(surrogate_trainer* trainer,
                                                           const char* output, double scale);

/* gradient_l2: the points of all ranks are a lattice of n_x times n_y, and point (i, j) has the
 * position i * n_y + j in the domain's canonical order (global ids, else coordinates). Local.
 * Errors: SHAPE. */
SURROGATE_API surrogate_status surrogate_trainer_set_grid_shape(surrogate_trainer* trainer,
                                                                int64_t n_x, int64_t n_y);

/* The sample in the bound arrays to the gradients of the step under way; loss (may be NULL) is that
 * of the sample. The plan's bound outputs get the prediction; bind none if nobody wants it.
 * Errors: INVALID_ARGUMENT (inputs or targets unbound), NOT_FINITE (input, target; a relative loss
 * of a target that is zero everywhere), and those of surrogate_plan_run. */
SURROGATE_API surrogate_status surrogate_trainer_accumulate(surrogate_trainer* trainer,
                                                            double* loss);

/* Result of a step. */
typedef struct surrogate_step_report {
    int64_t step;         /* optimiser steps so far, this one included */
    int64_t samples;      /* samples in it, over all groups */
    double loss;          /* their mean, before the step */
    double gradient_norm; /* before clipping */
    double learning_rate;
    double beta1;
    int32_t was_skipped; /* 1: not finite; weights are as they were */
    int32_t reserved;
} surrogate_step_report;

/* The optimiser's step from what was accumulated since the last one: the mean over the samples of
 * all groups. Errors: INVALID_ARGUMENT (nothing accumulated on any group), NOT_FINITE
 * (max_nonfinite_steps). */
SURROGATE_API surrogate_status surrogate_trainer_apply(surrogate_trainer* trainer,
                                                       surrogate_step_report* report);

/* Accumulates the bound sample, and applies when `accumulate` samples are complete (report->samples
 * is 0 otherwise). report may be NULL. */
SURROGATE_API surrogate_status surrogate_trainer_step(surrogate_trainer* trainer,
                                                      surrogate_step_report* report);

/* The error of the bound sample without learning from it: the loss, the relative L2 distance of
 * each output in its unit [n_output of the card], with weights of points if there are any.
 * Collective over the plan's context only. error may be NULL. */
SURROGATE_API surrogate_status surrogate_trainer_validate(surrogate_trainer* trainer, double* loss,
                                                          double* error);
/* Ends a validation: the mean over what validate() has seen on all groups since the last time,
 * which schedule=plateau looks at, and whether it is the best so far (then SURROGATE_BEST is these
 * weights from now on). */
SURROGATE_API surrogate_status surrogate_trainer_end_validation(surrogate_trainer* trainer,
                                                                double* mean_loss,
                                                                int32_t* is_best);

/* ---- samples pushed by a solver
 * ---------------------------------------------------------------- */

/* Copies the bound inputs and targets into the reservoir, which keeps `reservoir` samples: each of
 * all that were ever given with equal chance. n_kept may be NULL. */
SURROGATE_API surrogate_status surrogate_trainer_reservoir_add(surrogate_trainer* trainer,
                                                               int64_t* n_kept);

/* n_steps steps on samples drawn from the reservoir, each of `accumulate` samples; report is that
 * of the last one, with the mean loss of all. The bound arrays are not read. Errors:
 * INVALID_ARGUMENT (the reservoir is empty). */
SURROGATE_API surrogate_status surrogate_trainer_reservoir_step(surrogate_trainer* trainer,
                                                                int64_t n_steps,
                                                                surrogate_step_report* report);

/* ---- ranges
 * ------------------------------------------------------------------------------------ */

/* The ranges (min, max) on the card of the trainer's model grow to hold what it has learnt from: of
 * each input field to the smallest and largest values, of each output to those of the targets, in
 * all steps since the trainer was made (those before its checkpoint included). Never by itself:
 * whoever calls it says that the model may be trusted there.
 *   - Values of all ranks count, as they were bound: without noise. A step that was left out or has
 *     failed, a sample that was kept but not learnt from, and validations do not count; nor do
 *     targets at points of weight 0.
 *   - A range that the card does not have stays away; coordinates and pooled statistics stay.
 *   - All plans of that model, of any thread, compare with the new ranges from their next run on,
 *     time loops from their next step on, and surrogate_model_save, _save_model, _input, _output,
 *     _describe and _hash have them. None of these may be under way in the call, nor runs that were
 *     only enqueued (surrogate_plan_wait).
 * n_widened: fields whose range has grown; may be NULL. One reduction of two numbers a field. On
 * error ranges are as before. Since 0.1 */
SURROGATE_API surrogate_status surrogate_trainer_widen_ranges(surrogate_trainer* trainer,
                                                              int32_t* n_widened);

/* ---- files
 * ------------------------------------------------------------------------------------- */

enum { SURROGATE_WEIGHTS = 0, SURROGATE_EMA = 1, SURROGATE_BEST = 2 };

/* Writes a model file as surrogate_model_save does, with the weights of now, their average, or the
 * best ones. card: JSON to replace the model's card (the same network), or NULL. Rank 0 of
 * `data_parallel` writes. */
SURROGATE_API surrogate_status surrogate_trainer_save_model(surrogate_trainer* trainer,
                                                            int32_t which, const char* card,
                                                            const char* path);

/* Everything a training needs to go on with the same bits: weights in double, average, best,
 * moments, schedule, counters, reservoir, ranges (those of the card, and those of the steps so far;
 * checkpoints of earlier versions lack the latter, which then begin with the next step). One file,
 * which gets its name when it is complete; an earlier one stays as it is until then. A checkpoint
 * of a reproducible training may be restored on another number of ranks. Not between accumulate and
 * apply.
 *   note   text of the caller's kept with it (position in the data set), or NULL
 * Errors: IO; INVALID_ARGUMENT. restore: BAD_FILE, and INVALID_ARGUMENT with a list of all that
 * differs (model, settings); nothing is changed then. */
SURROGATE_API surrogate_status surrogate_trainer_save(surrogate_trainer* trainer, const char* note,
                                                      const char* path);
SURROGATE_API surrogate_status surrogate_trainer_restore(surrogate_trainer* trainer,
                                                         const char* path);
/* The note of the last restored checkpoint; see (text, n_text). Local. */
SURROGATE_API surrogate_status surrogate_trainer_note(const surrogate_trainer* trainer, char* text,
                                                      int64_t* n_text);

/* A table for a log: parameters, samples a step, memory of gradients, moments, saved activations a
 * point, bytes a step and rank by formula. Local. */
SURROGATE_API surrogate_status surrogate_trainer_describe(const surrogate_trainer* trainer,
                                                          char* text, int64_t* n_text);
/* Counters of this rank: "bytes_sent" and "collectives" of the last step, "steps", "bytes" of
 * memory, samples that the reservoir has been "given" and has "kept". Local. */
SURROGATE_API surrogate_status surrogate_trainer_counter(const surrogate_trainer* trainer,
                                                         const char* key, int64_t* value);
SURROGATE_API void surrogate_trainer_destroy(surrogate_trainer** trainer);

/* A model to be trained from the start: of a card (page reference/model-file.md), with weights that
 * are drawn as the family's official code draws them, from a seed. Collective; card and seed of
 * rank 0 count, which draws; others may give NULL. Errors: BAD_FILE (card), NOT_SUPPORTED
 * (family). */
SURROGATE_API surrogate_status surrogate_model_initialize(surrogate_context* context,
                                                          const char* card, int64_t seed,
                                                          surrogate_model** model);

/* The same with the weights of the layer that gives the outputs multiplied by output_scale, above
 * 0, that of rank 0. A network that adds its output to its input, such as an emulator of short
 * steps, learns faster when it begins near "no change": 0.05, say. Errors: those above;
 * INVALID_ARGUMENT (output_scale), NOT_SUPPORTED (a network without such a layer). Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_initialize_scaled(surrogate_context* context,
                                                                 const char* card, int64_t seed,
                                                                 double output_scale,
                                                                 surrogate_model** model);

#ifdef __cplusplus
}
#endif

#endif
