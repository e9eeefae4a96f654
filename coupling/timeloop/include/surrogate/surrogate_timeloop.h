/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_TIMELOOP_H
#define SURROGATE_TIMELOOP_H

/* A surrogate in a solver's time loop: it steps the solver's fields, watches what it does, and can
 * go back. C99; no MPI and no HDF5 in this header.
 *
 *     surrogate_timeloop *loop = NULL;
 *     surrogate_timeloop_create(plan, &loop);
 *     surrogate_timeloop_set(loop, "range", "fallback");
 *     surrogate_timeloop_bind(loop, "height", "m", &height);       input and output of the card:
 *                                                                  the
 *     while (time < end) {                                         state, stepped in place
 *         surrogate_timeloop_step(loop, dt_s, &outcome);
 *         if (outcome == SURROGATE_STEP_REJECTED) {
 *             my_step(dt_s);                                       the solver's own
 *             surrogate_timeloop_advance(loop, dt_s);
 *         }
 *     }
 *
 * A step either happens or leaves every bound array as it was: predictions come into memory of the
 * loop first, and into the solver's arrays when the guard rails have looked at them. The outcome is
 * the same on all ranks.
 *
 * Guard rails and their policies (surrogate_timeloop_set; page how-to/time-loop.md):
 *   range     inputs outside the range of the training data           off warn correct fallback
 *             stop
 *   distance  pooled inputs far from those of the training samples    off warn         fallback
 *             stop
 *   finite    predictions, or inputs, that are NaN or infinite             warn         fallback
 *             stop
 *   bounds    predictions outside their bounds                        off warn correct fallback
 *             stop
 *   drift     declared integrals that have changed                    off warn correct fallback
 *     stop warn      the step counts; a line through the log at its first time, and a counter
 *     correct   range, bounds: values are moved to the end of the range (coordinates cannot be:
 *               they only warn); drift: predictions are projected back to the integral
 *     fallback  the solver's own step instead of the surrogate's
 *     stop      no step; the caller decides
 *   Several at once: stop before fallback before correct before warn.
 *
 * Everything here is collective over the plan's context unless it says "local", with the
 * conventions of surrogate.h; errors are the same on all ranks, with the text of the first that
 * failed. A step costs one surrogate_context_reduce besides the plan's run, and allocates nothing
 * after the first. Arrays lie on the host. One thread at a time. Since 0.1 */

#include <surrogate/surrogate.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct surrogate_timeloop surrogate_timeloop;

/* A loop around a plan, at time 0 and step 0. The loop keeps the plan's model, domains and context,
 * and binds the plan's fields to its own memory: bind nothing on the plan itself from here on. The
 * plan must live as long as the loop. Errors: INVALID_ARGUMENT (NULL; a card without fields),
 * NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_timeloop_create(surrogate_plan* plan,
                                                         surrogate_timeloop** loop);

/* The plan that the loop was made from; borrowed. Local. */
SURROGATE_API surrogate_status surrogate_timeloop_plan(const surrogate_timeloop* loop,
                                                       surrogate_plan** plan);

/* Options, at any time between steps, the same on all ranks. Unknown keys list the known ones.
 *   range            policy of the guard of this name; default warn
 *   range_max_fraction      0 .. 1: share of the points of all ranks that may lie outside, of one
 *                    input; default 0. With range=correct all of them are moved, and any is a
 *                    correction
 *   distance         default warn if the card has `pooled`, else off, and nothing else is possible
 *   distance_factor  > 0: the distance allowed, in units of the card's; default 1
 *   finite           default stop
 *   bounds           default warn: the card's min and max of outputs, and
 *                    surrogate_timeloop_set_bounds
 *   drift            default warn
 *   retry_after      0, 1, ..: after a step that was not the surrogate's, so many further steps are
 *                    left to the solver before the surrogate is tried again; default 0
 *   step_s           0 (default): a step of any length is one evaluation. Otherwise the time that
 *                    one evaluation advances the fields by, in s: a step of k times as long makes k
 *                    evaluations, each on the outcome of the one before; others are refused
 * Ranges of fields are those that the card has when a step begins: see
 * surrogate_trainer_widen_ranges.
 * Errors: UNKNOWN_NAME, INVALID_ARGUMENT (a value that the key does not take), NOT_SUPPORTED
 * (distance without statistics on the card, naming how to export them). */
SURROGATE_API surrogate_status surrogate_timeloop_set(surrogate_timeloop* loop, const char* key,
                                                      const char* value);

/* Receives the lines of guards, and the report when the loop is destroyed; rank 0 only. NULL
 * (default): silence. Local. */
SURROGATE_API surrogate_status surrogate_timeloop_set_log(surrogate_timeloop* loop,
                                                          surrogate_log_function log, void* user);

/* Tells where a field lies. One name is an input, an output, or both: then it is part of the state,
 * read and stepped in place. Unit, shapes and names of vectors as in surrogate_plan_bind_input; the
 * memory stays the caller's, is read and written by every later step, and must not move. Local.
 * Errors: those of surrogate_plan_bind_output for what steps write, an output or an input that an
 * output feeds, and of surrogate_plan_bind_input for other inputs; NOT_SUPPORTED (memory of a
 * device); SHAPE (input and output domain have different numbers of points, and the field is both).
 */
SURROGATE_API surrogate_status surrogate_timeloop_bind(surrogate_timeloop* loop, const char* name,
                                                       const char* unit,
                                                       const surrogate_array* array);
SURROGATE_API surrogate_status surrogate_timeloop_bind_block(surrogate_timeloop* loop,
                                                             const char* name, const char* unit,
                                                             const surrogate_block* block);

/* Forgets the fields that were bound: a step before they are bound again is an error. For callers
 * whose arrays are valid only between two calls, such as those taken out of vectors
 * (surrogate_timeloop_step_vec in surrogate_petsc.h). What surrogate_timeloop_connect and
 * _bind_state have said stays. Local. */
SURROGATE_API surrogate_status surrogate_timeloop_unbind(surrogate_timeloop* loop);

/* Output `output` of one evaluation is input `input` of the next one, where their names differ.
 * Both are bound, each to an array of its own or to the same one. Local. Errors: UNKNOWN_NAME,
 * INVALID_ARGUMENT (fed twice; different units), SHAPE (the input is bound to an array whose
 * numbers share memory). */
SURROGATE_API surrogate_status surrogate_timeloop_connect(surrogate_timeloop* loop,
                                                          const char* output, const char* input);

/* Arrays of the solver's own that belong to its state: mark, rewind, save and restore include them,
 * steps do not touch them. name is not on the card; unit may be NULL. [n_local, n_component] of the
 * input domain, at most 2^31 - 1 components. Local. Errors: those of surrogate_plan_bind_output, as
 * rewind and restore write the arrays. */
SURROGATE_API surrogate_status surrogate_timeloop_bind_state(surrogate_timeloop* loop,
                                                             const char* name, const char* unit,
                                                             const surrogate_array* array);
SURROGATE_API surrogate_status surrogate_timeloop_bind_state_block(surrogate_timeloop* loop,
                                                                   const char* name,
                                                                   const char* unit,
                                                                   const surrogate_block* block);

/* Bounds of an output in place of the card's; -inf, inf: none. Local. */
SURROGATE_API surrogate_status surrogate_timeloop_set_bounds(surrogate_timeloop* loop,
                                                             const char* output, double min,
                                                             double max);

/* Declares an integral that steps must keep: the sum over all points of weight times the output
 * field. Its value is taken from the output's array at the next step, before the surrogate's first
 * prediction.
 *   name       of the integral, for messages: "mass"
 *   field      an output of the card
 *   weight     [n_local] of the output domain, not negative, copied; NULL: the weights of the
 *              domain, on the sphere the share of the area, else 1
 *   tolerance  allowed change, as a share of the sum of weight times |field| at the start
 * correct adds the same number to every point, which is the nearest field with the right integral
 * in the norm of the weights. Sums are exact whatever the order, so that outcomes and corrections
 * are the same for any number of ranks.
 * One integral an output. It is taken when its field is finite, and again after steps that were not
 * the surrogate's.
 * Errors: UNKNOWN_NAME, INVALID_ARGUMENT (tolerance, weights, a name or a field twice),
 * NOT_FINITE. */
SURROGATE_API surrogate_status surrogate_timeloop_conserve(surrogate_timeloop* loop,
                                                           const char* name, const char* field,
                                                           const double* weight, double tolerance);

/* Adds an amount to an integral in the next step: sources, fluxes over the border; the same on all
 * ranks. Added to what is expected, and 0 again afterwards. Local. */
SURROGATE_API surrogate_status surrogate_timeloop_add_source(surrogate_timeloop* loop,
                                                             const char* name, double amount);

/* The solver's own step, for the policy fallback: steps the bound arrays, which hold the state at
 * time_s, by dt_s. Called on all ranks, and may communicate. Anything but SURROGATE_SUCCESS, on any
 * rank, is the status of surrogate_timeloop_step on all. A function that returns
 * surrogate_context_fail(NULL, SURROGATE_CALLBACK, text) brings its text to all ranks; the C++
 * class does so for exceptions. NULL (default): the step is rejected, and the caller's to make.
 * Local. */
typedef surrogate_status (*surrogate_fallback_function)(void* user, double time_s, double dt_s);
SURROGATE_API surrogate_status surrogate_timeloop_set_fallback(surrogate_timeloop* loop,
                                                               surrogate_fallback_function step,
                                                               void* user);

/* Outcomes of a step. */
enum {
    SURROGATE_STEP_ACCEPTED = 0, /* the surrogate's step; guards with policy warn may have spoken */
    SURROGATE_STEP_CORRECTED = 1, /* the surrogate's step, corrected */
    SURROGATE_STEP_FALLBACK = 2,  /* the fallback function has made the step */
    SURROGATE_STEP_REJECTED = 3,  /* nothing has changed: the caller makes the step, and then calls
                                surrogate_timeloop_advance */
    SURROGATE_STEP_STOPPED = 4    /* nothing has changed: a guard with policy stop */
};

/* One step by dt_s (> 0, seconds). outcome may be NULL. Time and step number go on unless the
 * outcome is REJECTED or STOPPED. On error nothing has changed.
 * Errors: INVALID_ARGUMENT (dt_s; a field that is not bound; no multiple of step_s), SHAPE (arrays
 * that do not fit since the points have moved), and those of surrogate_plan_run that are not
 * NOT_FINITE; the fallback function's. */
SURROGATE_API surrogate_status surrogate_timeloop_step(surrogate_timeloop* loop, double dt_s,
                                                       int32_t* outcome);

/* Takes the place of surrogate_timeloop_step on a rank that cannot step, where others do: nothing
 * changes on any rank, and all return the first failure. For adapters that fail before they can
 * bind arrays. status is not SURROGATE_SUCCESS. */
SURROGATE_API surrogate_status surrogate_timeloop_step_with_error(surrogate_timeloop* loop,
                                                                  surrogate_status status,
                                                                  const char* text);

/* Up to n_step steps, until one is rejected or stopped. n_done: steps made; outcome: of the last
 * one tried. Either may be NULL. */
SURROGATE_API surrogate_status surrogate_timeloop_rollout(surrogate_timeloop* loop, int64_t n_step,
                                                          double dt_s, int64_t* n_done,
                                                          int32_t* outcome);

/* The caller has made a step itself, after REJECTED or by its own decision: time and step number go
 * on, and integrals are taken anew from the fields. */
SURROGATE_API surrogate_status surrogate_timeloop_advance(surrogate_timeloop* loop, double dt_s);

/* Local; either may be NULL. */
SURROGATE_API surrogate_status surrogate_timeloop_time(const surrogate_timeloop* loop,
                                                       double* time_s, int64_t* step);
/* The same on all ranks. Local. */
SURROGATE_API surrogate_status surrogate_timeloop_set_time(surrogate_timeloop* loop, double time_s,
                                                           int64_t step);

/* Why the last step was not simply accepted: a line for each guard that spoke, with field, share of
 * points, worst value and limit; "" if none did. Local. */
SURROGATE_API surrogate_status surrogate_timeloop_reason(const surrogate_timeloop* loop, char* text,
                                                         int64_t* n_text);

/* Returns the result of one guard in the last step, over all ranks. Local.
 *   n_violations  of the loop so far: steps in which it spoke
 *   field         the input, output or integral that it spoke of, the first of them; "" if it did
 *                 not speak in the last step
 *   fraction      range, bounds, finite: share of points
 *   value, limit  range, bounds: the worst value, and the end of the range that it passed;
 *                 distance: the distance, and that allowed; drift: change, and that allowed
 * Errors: UNKNOWN_NAME. */
typedef struct surrogate_guard_info {
    int64_t n_violations;
    const char* field;
    double fraction;
    double value, limit;
} surrogate_guard_info;
SURROGATE_API surrogate_status surrogate_timeloop_guard(const surrogate_timeloop* loop,
                                                        const char* guard,
                                                        surrogate_guard_info* info);

/* Counters: steps, evaluations, accepted, corrected, replaced, rejected, stopped, skipped (left to
 * the solver by retry_after), marks, rewinds, saves. Local. */
SURROGATE_API surrogate_status surrogate_timeloop_counter(const surrogate_timeloop* loop,
                                                          const char* key, int64_t* value);

/* A table for a log: steps by outcome, and for each guard its policy, how often it spoke, and the
 * worst it saw. Local. */
SURROGATE_API surrogate_status surrogate_timeloop_report(const surrogate_timeloop* loop, char* text,
                                                         int64_t* n_text);

/* mark remembers the state: time, step, counters of retry_after, integrals, and the content of
 * every output and of every array of bind_state, as they are in the caller's memory. rewind brings
 * the last mark back, to the bit, any number of times: for implicit coupling, whose iterations
 * repeat a step. Inputs that are not outputs are the caller's. Errors: INVALID_ARGUMENT (rewind
 * without a mark; fields bound since), NO_MEMORY (the first mark takes memory). */
SURROGATE_API surrogate_status surrogate_timeloop_snapshot(surrogate_timeloop* loop);
SURROGATE_API surrogate_status surrogate_timeloop_rollback(surrogate_timeloop* loop);

/* A checkpoint: the same as a mark, in a file (HDF5, written by all ranks; layout on page
 * reference/checkpoint-format.md), with the hash of the model, names and units. The file gets its
 * name when it is complete and on the disk; until then, and if writing fails, whatever has the name
 * stays as it is. restore reads it on any number of ranks and any partition, points found by global
 * id, without ids by their coordinates; going on from it gives the bits of the undisturbed run in
 * reproducible mode. It first looks at the checksum of the whole file. On error nothing has
 * changed. Errors: IO, NOT_SUPPORTED (built without HDF5), BAD_FILE (cut short, altered, not a
 * checkpoint; a newer format), INVALID_ARGUMENT (another model, other fields or points: what
 * differs; ranks that give different paths), and those of surrogate_ordering_create. */
SURROGATE_API surrogate_status surrogate_timeloop_save(surrogate_timeloop* loop, const char* path);
SURROGATE_API surrogate_status surrogate_timeloop_restore(surrogate_timeloop* loop,
                                                          const char* path);

/* Local, but for the report that goes to the log. Accepts NULL, sets the handle to NULL. */
SURROGATE_API void surrogate_timeloop_destroy(surrogate_timeloop** loop);

#ifdef __cplusplus
}
#endif

#endif
