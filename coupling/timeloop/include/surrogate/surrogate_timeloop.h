/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_TIMELOOP_H
#define SURROGATE_TIMELOOP_H

/* Runs a surrogate in a solver's time loop: it advances the solver's fields, checks each step with
 * guards, and can return to an earlier state. C99; this header includes neither MPI nor HDF5.
 *
 *     surrogate_timeloop *loop = NULL;
 *     surrogate_timeloop_create(plan, &loop);
 *     surrogate_timeloop_set(loop, "range", "fallback");
 *     surrogate_timeloop_bind(loop, "height", "m", &height);  // input and output of the card
 *     while (time < end) {
 *         surrogate_timeloop_step(loop, dt_s, &outcome);      // height is advanced in place
 *         if (outcome == SURROGATE_STEP_REJECTED) {
 *             my_step(dt_s);                                  // the solver's own step
 *             surrogate_timeloop_advance(loop, dt_s);
 *         }
 *     }
 *
 * A step is made completely or leaves every bound array unchanged: predictions are written to
 * memory of the loop, and copied to the solver's arrays after the guards have checked them. The
 * outcome is the same on all ranks.
 *
 * Guards (surrogate_timeloop_set; page how-to/time-loop.md):
 *   range     inputs outside the range of the training data
 *   distance  input statistics far from the statistics of the training samples
 *   finite    predictions, or inputs, that are NaN or infinite
 *   bounds    predictions outside their bounds
 *   drift     declared integrals that have changed
 * Policies, from the weakest to the strongest. If several guards trigger, the strongest applies.
 *   off       no check (not for finite)
 *   warn      the step is accepted; one log line at the first time, and a counter
 *   correct   range, bounds: values are moved to the end of the range (coordinates are not moved:
 *             they only warn); drift: predictions are projected to the integral; not for distance
 *             and finite
 *   fallback  the solver's own step instead of the surrogate's
 *   stop      no step; the caller decides
 *
 * Every function is collective over the plan's context unless it says "local", with the conventions
 * of surrogate.h; errors are the same on all ranks, with the text of the first that failed. A step
 * makes one surrogate_context_reduce besides the plan's run, and allocates nothing after the first.
 * Arrays are in host memory. One thread at a time. Since 0.1 */

#include <surrogate/surrogate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A surrogate in a solver's time loop. */
typedef struct surrogate_timeloop surrogate_timeloop;

/* Creates a loop around a plan, at time 0 and step 0. The loop binds the plan's fields to its own
 * memory: do not bind arrays on the plan while the loop exists. The plan must live as long as the
 * loop, which the caller destroys.
 * Errors: INVALID_ARGUMENT (NULL; a card without fields), NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_timeloop_create(surrogate_plan* plan,
                                                         surrogate_timeloop** loop);

/* Returns the plan that the loop was created from; borrowed. Local. Errors:
 * INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status surrogate_timeloop_plan(const surrogate_timeloop* loop,
                                                       surrogate_plan** plan);

/* Sets an option, at any time between steps, to the same value on all ranks.
 *   range               policy of this guard; default warn
 *   range_max_fraction  0 .. 1: fraction of the points of all ranks that may be outside the range
 *                       of one input; default 0. With range=correct all of them are moved, and any
 *                       is a correction
 *   distance            policy; default warn if the card has input statistics, else off
 *   distance_factor     > 0: allowed distance, in units of the card's; default 1
 *   finite              policy; default stop
 *   bounds              policy; default warn. Bounds are min and max of the card's outputs, or
 *                       set by surrogate_timeloop_set_bounds
 *   drift               policy; default warn
 *   retry_after         0, 1, ..: number of further steps that the solver makes after a step that
 *                       the surrogate did not make, before the surrogate is tried again; default 0
 *   step_s              0 (default): a step of any length is one evaluation. Otherwise the time in
 *                       s by which one evaluation advances the fields: a step of k * step_s makes k
 *                       evaluations, each on the result of the previous one; other lengths are
 *                       errors
 * A step uses the ranges of fields that the card has when it begins (see
 * surrogate_trainer_widen_ranges).
 * Errors: UNKNOWN_NAME (lists the keys), INVALID_ARGUMENT (a value that is not allowed for the
 * key), NOT_SUPPORTED (distance without statistics on the card; names the export command). */
SURROGATE_API surrogate_status surrogate_timeloop_set(surrogate_timeloop* loop, const char* key,
                                                      const char* value);

/* Sets the function that receives the lines of guards, and the report when the loop is destroyed;
 * rank 0 only. NULL (default): no log. Local. Errors: INVALID_ARGUMENT (loop is NULL). */
SURROGATE_API surrogate_status surrogate_timeloop_set_log(surrogate_timeloop* loop,
                                                          surrogate_log_function log, void* user);

/* Binds a field to an array. A name may be an input, an output, or both: then the field is part of
 * the state and is advanced in place. Unit, shapes and names of vectors as in
 * surrogate_plan_bind_input. The array is borrowed: every later step reads and writes it, and it
 * must not move. Local.
 * Inputs of role SURROGATE_CLOUD: an array or one number as in surrogate_plan_bind_input. Steps
 * only read it, and surrogate_timeloop_unbind keeps it; the guard `range` counts the points of
 * clouds outside, and its policy `correct` does not change the numbers. Ranks must have the same.
 * Errors: as surrogate_plan_bind_output for fields that steps write (outputs, and inputs that an
 * output is connected to), and as surrogate_plan_bind_input for other inputs; NOT_SUPPORTED
 * (device memory); SHAPE (the field is input and output, and the two domains have different numbers
 * of points). */
SURROGATE_API surrogate_status surrogate_timeloop_bind(surrogate_timeloop* loop, const char* name,
                                                       const char* unit,
                                                       const surrogate_array* array);

/* Binds a field to a strided block of a grid (surrogate_block), as surrogate_timeloop_bind. Local.
 * Errors: as there. */
SURROGATE_API surrogate_status surrogate_timeloop_bind_block(surrogate_timeloop* loop,
                                                             const char* name, const char* unit,
                                                             const surrogate_block* block);

/* Removes the bindings of all fields: a step before they are bound again is an error. For callers
 * whose arrays are valid during one call only, such as arrays of Vecs (surrogate_timeloop_step_vec
 * in surrogate_petsc.h). Connections (surrogate_timeloop_connect) and state arrays
 * (surrogate_timeloop_bind_state) are kept. Local. Errors: INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status surrogate_timeloop_unbind(surrogate_timeloop* loop);

/* Connects output `output` of an evaluation to input `input` of the next one, for state fields
 * whose names differ. Both are bound, to two arrays or to the same one. Local. Errors:
 * UNKNOWN_NAME, INVALID_ARGUMENT (connected twice; different units), SHAPE (the input is bound to
 * an array whose elements overlap in memory). */
SURROGATE_API surrogate_status surrogate_timeloop_connect(surrogate_timeloop* loop,
                                                          const char* output, const char* input);

/* Adds an array of the solver to the state: snapshot, rollback, save and restore include it, steps
 * do not touch it. name must not be on the card; unit may be NULL.
 *   array  [n_local, n_component] of the input domain, at most 2^31 - 1 components; borrowed
 * Local. Errors: as surrogate_plan_bind_output, since rollback and restore write the array. */
SURROGATE_API surrogate_status surrogate_timeloop_bind_state(surrogate_timeloop* loop,
                                                             const char* name, const char* unit,
                                                             const surrogate_array* array);

/* Adds a strided block of a grid (surrogate_block) to the state, as surrogate_timeloop_bind_state.
 * Local. Errors: as there. */
SURROGATE_API surrogate_status surrogate_timeloop_bind_state_block(surrogate_timeloop* loop,
                                                                   const char* name,
                                                                   const char* unit,
                                                                   const surrogate_block* block);

/* Sets the bounds of an output, in its unit, instead of the card's; -inf, inf: none. Local.
 * Errors: UNKNOWN_NAME, INVALID_ARGUMENT (NaN, min above max). */
SURROGATE_API surrogate_status surrogate_timeloop_set_bounds(surrogate_timeloop* loop,
                                                             const char* output, double min,
                                                             double max);

/* Declares an integral that steps must conserve: the sum over all points of weight times the output
 * field. The next step computes its reference value from the output's array, before the surrogate's
 * first prediction, as soon as the field is finite. Steps that the surrogate did not make compute
 * it again.
 *   name       of the integral, for messages: "mass"
 *   field      an output of the card; one integral per output
 *   weight     [n_local] of the output domain, not negative, copied; NULL: the weights of the
 *              domain, else the fraction of the area on the sphere, else 1
 *   tolerance  allowed change, relative to the sum of weight times |field| at the start
 * The policy correct adds the same number to every point: this is the nearest field with the right
 * integral in the norm of the weights. Sums do not depend on the order of summation, so that
 * outcomes and corrections are the same for any number of ranks.
 * Errors: UNKNOWN_NAME, INVALID_ARGUMENT (tolerance, weights, a name or a field twice),
 * NOT_FINITE. */
SURROGATE_API surrogate_status surrogate_timeloop_conserve(surrogate_timeloop* loop,
                                                           const char* name, const char* field,
                                                           const double* weight, double tolerance);

/* Declares a known change of an integral in the next step: sources, fluxes over the boundary. Pass
 * the same amount on all ranks, in the unit of the field times the unit of the weights. Applies to
 * one step. Local. Errors: UNKNOWN_NAME, NOT_FINITE. */
SURROGATE_API surrogate_status surrogate_timeloop_add_source(surrogate_timeloop* loop,
                                                             const char* name, double amount);

/* Makes the solver's own step for the policy fallback: advances the bound arrays, which hold the
 * state at time_s, by dt_s seconds. Called on all ranks, and may communicate. If any rank returns
 * another status than SURROGATE_SUCCESS, surrogate_timeloop_step returns it on all ranks. A
 * function that returns surrogate_context_fail(NULL, SURROGATE_CALLBACK, text) sends its text to
 * all ranks; the C++ class does so for exceptions. */
typedef surrogate_status (*surrogate_fallback_function)(void* user, double time_s, double dt_s);

/* Sets the function that makes the solver's own step; user is passed to it. NULL (default): the
 * step is rejected, and the caller makes it. Local. Errors: INVALID_ARGUMENT (loop is NULL). */
SURROGATE_API surrogate_status surrogate_timeloop_set_fallback(surrogate_timeloop* loop,
                                                               surrogate_fallback_function step,
                                                               void* user);

/* Outcomes of a step. */
enum {
    /* the surrogate's step; guards with policy warn may have triggered */
    SURROGATE_STEP_ACCEPTED = 0,
    /* the surrogate's step, corrected */
    SURROGATE_STEP_CORRECTED = 1,
    /* the fallback function has made the step */
    SURROGATE_STEP_FALLBACK = 2,
    /* nothing has changed: the caller makes the step, and then calls surrogate_timeloop_advance */
    SURROGATE_STEP_REJECTED = 3,
    /* nothing has changed: a guard with policy stop has triggered */
    SURROGATE_STEP_STOPPED = 4
};

/* Makes one step of dt_s seconds (> 0). Advances time and step number unless the outcome is
 * REJECTED or STOPPED. outcome may be NULL. On error nothing has changed.
 * Errors: INVALID_ARGUMENT (dt_s; a field that is not bound; not a multiple of step_s), SHAPE
 * (arrays that do not fit after the points have moved), the errors of surrogate_plan_run except
 * NOT_FINITE, and the errors of the fallback function. */
SURROGATE_API surrogate_status surrogate_timeloop_step(surrogate_timeloop* loop, double dt_s,
                                                       int32_t* outcome);

/* Reports an error from a rank that cannot step, while the other ranks call
 * surrogate_timeloop_step: nothing changes on any rank, and all return the first error. For
 * adapters that fail before they can bind arrays. Errors: the status of the first rank that has
 * one; INVALID_ARGUMENT (status is SURROGATE_SUCCESS). */
SURROGATE_API surrogate_status surrogate_timeloop_step_with_error(surrogate_timeloop* loop,
                                                                  surrogate_status status,
                                                                  const char* text);

/* Makes up to n_step steps, until one is rejected or stopped. n_done receives the number of steps
 * made, outcome the outcome of the last one tried; either may be NULL. Errors: as
 * surrogate_timeloop_step. */
SURROGATE_API surrogate_status surrogate_timeloop_rollout(surrogate_timeloop* loop, int64_t n_step,
                                                          double dt_s, int64_t* n_done,
                                                          int32_t* outcome);

/* Reports a step of dt_s seconds that the caller has made itself, after REJECTED or by its own
 * decision: advances time and step number, and computes integrals again from the fields. Errors:
 * INVALID_ARGUMENT (dt_s). */
SURROGATE_API surrogate_status surrogate_timeloop_advance(surrogate_timeloop* loop, double dt_s);

/* Returns the current time in s and the step number; either may be NULL. Local. Errors:
 * INVALID_ARGUMENT (loop is NULL). */
SURROGATE_API surrogate_status surrogate_timeloop_time(const surrogate_timeloop* loop,
                                                       double* time_s, int64_t* step);

/* Sets time in s and step number; pass the same values on all ranks. Local. Errors:
 * INVALID_ARGUMENT (not finite or negative). */
SURROGATE_API surrogate_status surrogate_timeloop_set_time(surrogate_timeloop* loop, double time_s,
                                                           int64_t step);

/* Describes why the last step was not simply accepted: one line per guard that triggered, with
 * field, fraction of points, worst value and limit; "" if none did. Copies the text as
 * described in surrogate.h. Local. Errors: INVALID_ARGUMENT (NULL), SHAPE (n_text). */
SURROGATE_API surrogate_status surrogate_timeloop_reason(const surrogate_timeloop* loop, char* text,
                                                         int64_t* n_text);

/* Result of one guard in the last step, over all ranks; zero and "" except n_violations if the
 * guard did not trigger. */
typedef struct surrogate_guard_info {
    int64_t n_violations; /* number of steps so far in which it has triggered */
    /* the first input, output or integral that triggered it in the last step; owned by the loop,
     * valid until its next step */
    const char* field;
    double fraction; /* range, bounds, finite: fraction of points; else 0 */
    double value;    /* range, bounds: the worst value; distance: the distance; drift: the change */
    double limit;    /* range, bounds: the exceeded end; distance, drift: the allowed one */
} surrogate_guard_info;

/* Returns the result of a guard in the last step. guard: range, distance, finite, bounds or drift.
 * Local. Errors: UNKNOWN_NAME. */
SURROGATE_API surrogate_status surrogate_timeloop_guard(const surrogate_timeloop* loop,
                                                        const char* guard,
                                                        surrogate_guard_info* info);

/* Returns a counter: steps, evaluations, accepted, corrected, fallback, rejected, stopped, skipped
 * (left to the solver by retry_after), snapshots, rollbacks, saves. Local. Errors: UNKNOWN_NAME
 * (lists the keys). */
SURROGATE_API surrogate_status surrogate_timeloop_counter(const surrogate_timeloop* loop,
                                                          const char* key, int64_t* value);

/* Describes the run so far as a table for a log: steps by outcome, and for each guard its policy,
 * the number of steps in which it triggered, and the worst value. Local. Errors: INVALID_ARGUMENT
 * (NULL), SHAPE (n_text). */
SURROGATE_API surrogate_status surrogate_timeloop_report(const surrogate_timeloop* loop, char* text,
                                                         int64_t* n_text);

/* Stores the state in memory of the loop: time, step, counters of retry_after, integrals, and the
 * content of every output and of every array of bind_state. Replaces the previous snapshot. For
 * implicit coupling, whose iterations repeat a step. The first call allocates. Errors:
 * INVALID_ARGUMENT (a field that is not bound), NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_timeloop_snapshot(surrogate_timeloop* loop);

/* Restores the state of the last snapshot bit for bit, any number of times. Inputs that are not
 * outputs are not part of it. Errors: INVALID_ARGUMENT (no snapshot; fields that were bound after
 * it). */
SURROGATE_API surrogate_status surrogate_timeloop_rollback(surrogate_timeloop* loop);

/* Writes a checkpoint: the content of a snapshot in one HDF5 file that all ranks write (layout:
 * page reference/checkpoint-format.md), with the hash of the model, names and units. The file is
 * renamed to path when it is complete and on disk; if writing fails, an existing file of that path
 * is kept. Errors: IO, NOT_SUPPORTED (built without HDF5), INVALID_ARGUMENT (ranks with different
 * paths; a field that is not bound), and the errors of surrogate_ordering_create. */
SURROGATE_API surrogate_status surrogate_timeloop_save(surrogate_timeloop* loop, const char* path);

/* Reads a checkpoint on any number of ranks and any partition: finds points by global id, or by
 * coordinates if there are no ids. First verifies the checksum of the whole file. In reproducible
 * mode a continued run is bitwise equal to an uninterrupted one. On error nothing has changed.
 * Errors: IO, NOT_SUPPORTED (built without HDF5), BAD_FILE (truncated, altered, not a checkpoint, a
 * newer format), INVALID_ARGUMENT (another model, other fields or points, with the difference;
 * ranks with different paths), and the errors of surrogate_ordering_create. */
SURROGATE_API surrogate_status surrogate_timeloop_restore(surrogate_timeloop* loop,
                                                          const char* path);

/* Frees the loop, and sends the report to the log. Accepts NULL, sets the handle to NULL. Local.
 * Errors: none. */
SURROGATE_API void surrogate_timeloop_destroy(surrogate_timeloop** loop);

#ifdef __cplusplus
}
#endif

#endif
