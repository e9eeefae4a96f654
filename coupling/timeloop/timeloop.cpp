// SPDX-License-Identifier: Apache-2.0
// The C functions. Their contracts are in surrogate_timeloop.h.
#include <surrogate/surrogate_timeloop.h>

#include <algorithm>
#include <cstring>

#include "coupling/timeloop/loop.hpp"
#include "coupling/timeloop/plan_parts.hpp"

using namespace surrogate::timeloop;

/// Handle of a time loop. The context outlives the loop.
struct surrogate_timeloop {
    std::optional<surrogate::Context> context;
    std::optional<Loop> loop;
};

namespace {

surrogate_context* context_of(const surrogate_timeloop* loop) {
    return loop ? loop->context->get() : nullptr;
}

/// Calls work(loop) and converts exceptions to a status, as in every C function.
template <class Work>
surrogate_status with(surrogate_timeloop* handle, const Work& work) {
    return guarded(context_of(handle), [&] {
        require(handle, "loop");
        work(*handle->loop);
    });
}
template <class Work>
surrogate_status with(const surrogate_timeloop* handle, const Work& work) {
    return guarded(context_of(handle), [&] {
        require(handle, "loop");
        work(static_cast<const Loop&>(*handle->loop));
    });
}

/// Copies a text as surrogate.h describes for pairs (text, n_text).
void copy_text(const std::string& from, char* text, int64_t* n_text) {
    require(n_text, "n_text");
    const int64_t size = *n_text, needed = static_cast<int64_t>(from.size()) + 1;
    *n_text = needed;
    if (!text) return;
    if (size > 0) {
        const auto n = static_cast<size_t>(std::min(size, needed) - 1);
        std::memcpy(text, from.data(), n);
        text[n] = '\0';
    }
    if (size < needed)
        fail(SURROGATE_SHAPE, "the text has " + std::to_string(needed) + " bytes, the buffer " +
                                  std::to_string(size));
}

}  // namespace

surrogate_status surrogate_timeloop_create(surrogate_plan* plan, surrogate_timeloop** loop) {
    std::optional<surrogate::Context> context;
    return guarded(nullptr, [&] {
        if (loop) *loop = nullptr;
        require(plan, "plan");
        std::unique_ptr<surrogate_timeloop> created;
        // Creating the context's handle allocates, and all ranks must learn of a failure.
        const surrogate_status status = guarded(nullptr, [&] {
            context.emplace(context_of(plan));
            require(loop, "loop");
            created = std::make_unique<surrogate_timeloop>();
        });
        require_success(surrogate_plan_agree(
            plan, status, status == SURROGATE_SUCCESS ? nullptr : surrogate_error(nullptr)));
        created->loop.emplace(context->get(), plan);
        created->context = std::move(context);
        *loop = created.release();
    });
}

surrogate_status surrogate_timeloop_plan(const surrogate_timeloop* loop, surrogate_plan** plan) {
    return with(loop, [&](const Loop& l) {
        require(plan, "plan");
        *plan = l.plan();
    });
}

surrogate_status surrogate_timeloop_set(surrogate_timeloop* loop, const char* key,
                                        const char* value) {
    return with(loop, [&](Loop& l) { l.set(key, value); });
}

surrogate_status surrogate_timeloop_set_log(surrogate_timeloop* loop, surrogate_log_function log,
                                            void* user) {
    return with(loop, [&](Loop& l) { l.set_log(log, user); });
}

surrogate_status surrogate_timeloop_bind(surrogate_timeloop* loop, const char* name,
                                         const char* unit, const surrogate_array* array) {
    return with(loop, [&](Loop& l) { l.bind(name, unit, array); });
}

surrogate_status surrogate_timeloop_bind_block(surrogate_timeloop* loop, const char* name,
                                               const char* unit, const surrogate_block* block) {
    return with(loop, [&](Loop& l) { l.bind(name, unit, block); });
}

surrogate_status surrogate_timeloop_unbind(surrogate_timeloop* loop) {
    return with(loop, [](Loop& l) { l.unbind(); });
}

surrogate_status surrogate_timeloop_connect(surrogate_timeloop* loop, const char* output,
                                            const char* input) {
    return with(loop, [&](Loop& l) { l.feed(output, input); });
}

surrogate_status surrogate_timeloop_bind_state(surrogate_timeloop* loop, const char* name,
                                               const char* unit, const surrogate_array* array) {
    return with(loop, [&](Loop& l) { l.bind_state(name, unit, array); });
}

surrogate_status surrogate_timeloop_bind_state_block(surrogate_timeloop* loop, const char* name,
                                                     const char* unit,
                                                     const surrogate_block* block) {
    return with(loop, [&](Loop& l) { l.bind_state(name, unit, block); });
}

surrogate_status surrogate_timeloop_set_bounds(surrogate_timeloop* loop, const char* output,
                                               double min, double max) {
    return with(loop, [&](Loop& l) {
        l.rails().bounds().set_bounds(l.fields().output_of(output), min, max);
    });
}

surrogate_status surrogate_timeloop_conserve(surrogate_timeloop* loop, const char* name,
                                             const char* field, const double* weight,
                                             double tolerance) {
    return with(loop, [&](Loop& l) { l.conserve(name, field, weight, tolerance); });
}

surrogate_status surrogate_timeloop_add_source(surrogate_timeloop* loop, const char* name,
                                               double amount) {
    return with(loop, [&](Loop& l) { l.rails().drift().add_source(name, amount); });
}

surrogate_status surrogate_timeloop_set_fallback(surrogate_timeloop* loop,
                                                 surrogate_fallback_function step, void* user) {
    return with(loop, [&](Loop& l) { l.set_fallback(step, user); });
}

surrogate_status surrogate_timeloop_step(surrogate_timeloop* loop, double dt_s, int32_t* outcome) {
    return with(loop, [&](Loop& l) {
        int32_t found = SURROGATE_STEP_STOPPED;
        require_success(l.step(dt_s, &found));
        if (outcome) *outcome = found;
    });
}

surrogate_status surrogate_timeloop_step_with_error(surrogate_timeloop* loop,
                                                    surrogate_status status, const char* text) {
    return with(loop, [&](Loop& l) { require_success(l.step_failed(status, text)); });
}

surrogate_status surrogate_timeloop_rollout(surrogate_timeloop* loop, int64_t n_step, double dt_s,
                                            int64_t* n_done, int32_t* outcome) {
    return with(loop, [&](Loop& l) {
        if (n_step < 0)
            fail(SURROGATE_INVALID_ARGUMENT,
                 "n_step is " + std::to_string(n_step) + ", expected 0 or more");
        int32_t found = SURROGATE_STEP_ACCEPTED;
        if (n_done) *n_done = 0;
        for (int64_t i = 0; i < n_step && found < SURROGATE_STEP_REJECTED; ++i) {
            require_success(l.step(dt_s, &found));
            if (n_done && found < SURROGATE_STEP_REJECTED) ++*n_done;
        }
        if (outcome) *outcome = found;
    });
}

surrogate_status surrogate_timeloop_advance(surrogate_timeloop* loop, double dt_s) {
    return with(loop, [&](Loop& l) { l.advance(dt_s); });
}

surrogate_status surrogate_timeloop_time(const surrogate_timeloop* loop, double* time_s,
                                         int64_t* step) {
    return with(loop, [&](const Loop& l) {
        if (time_s) *time_s = l.time_s();
        if (step) *step = l.n_step();
    });
}

surrogate_status surrogate_timeloop_set_time(surrogate_timeloop* loop, double time_s,
                                             int64_t step) {
    return with(loop, [&](Loop& l) { l.set_time(time_s, step); });
}

surrogate_status surrogate_timeloop_reason(const surrogate_timeloop* loop, char* text,
                                           int64_t* n_text) {
    return with(loop, [&](const Loop& l) { copy_text(l.reason(), text, n_text); });
}

surrogate_status surrogate_timeloop_guard(const surrogate_timeloop* loop, const char* guard,
                                          surrogate_guard_info* info) {
    return with(loop, [&](const Loop& l) {
        require(guard, "guard");
        require(info, "info");
        const Rails::Rail* const rail = l.rails().find(guard);
        if (!rail)
            fail(SURROGATE_UNKNOWN_NAME,
                 "no guard '" + std::string(guard) +
                     "' of a time loop (guards: range, distance, finite, bounds, drift)");
        const Finding& found = rail->last;
        *info = {rail->n_violations, found.field, found.fraction, found.value, found.limit};
    });
}

surrogate_status surrogate_timeloop_counter(const surrogate_timeloop* loop, const char* key,
                                            int64_t* value) {
    return with(loop, [&](const Loop& l) {
        require(key, "key");
        require(value, "value");
        const int64_t* const counter = l.counters().find(key);
        if (!counter)
            fail(SURROGATE_UNKNOWN_NAME,
                 "no counter '" + std::string(key) +
                     "' of a time loop (counters: steps, evaluations, accepted, corrected, "
                     "fallback, rejected, stopped, skipped, snapshots, rollbacks, saves)");
        *value = *counter;
    });
}

surrogate_status surrogate_timeloop_report(const surrogate_timeloop* loop, char* text,
                                           int64_t* n_text) {
    return with(loop, [&](const Loop& l) { copy_text(l.report(), text, n_text); });
}

surrogate_status surrogate_timeloop_snapshot(surrogate_timeloop* loop) {
    return with(loop, [](Loop& l) { l.mark(); });
}

surrogate_status surrogate_timeloop_rollback(surrogate_timeloop* loop) {
    return with(loop, [](Loop& l) { l.rewind(); });
}

surrogate_status surrogate_timeloop_save(surrogate_timeloop* loop, const char* path) {
    return with(loop, [&](Loop& l) { l.save(path); });
}

surrogate_status surrogate_timeloop_restore(surrogate_timeloop* loop, const char* path) {
    return with(loop, [&](Loop& l) { l.restore(path); });
}

void surrogate_timeloop_destroy(surrogate_timeloop** loop) {
    if (!loop || !*loop) return;
    (*loop)->loop->log_report();
    delete *loop;
    *loop = nullptr;
}
