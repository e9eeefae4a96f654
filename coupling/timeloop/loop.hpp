// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_timeloop.h>

#include <optional>
#include <string>
#include <vector>

#include "coupling/error/problem.hpp"
#include "coupling/timeloop/checkpoint_orders.hpp"
#include "coupling/timeloop/error.hpp"
#include "coupling/timeloop/fields.hpp"
#include "coupling/timeloop/rails.hpp"
#include "coupling/timeloop/settings.hpp"
#include "coupling/timeloop/snapshot.hpp"
#include "coupling/timeloop/state.hpp"

namespace surrogate::timeloop {

/// The counters of surrogate_timeloop_counter.
struct Counters {
    int64_t steps = 0, evaluations = 0, accepted = 0, corrected = 0, fallback = 0, rejected = 0,
            stopped = 0, skipped = 0, snapshots = 0, rollbacks = 0, saves = 0;

    /// Returns nullptr for an unknown name.
    const int64_t* find(const std::string& key) const;
};

/// Implements a time loop; see surrogate_timeloop.h. Functions that return a status store its text
/// in the context; the other functions throw.
class Loop {
public:
    /// Creates the loop of a plan. Collective; errors are the same on all ranks.
    explicit Loop(surrogate_context* context, surrogate_plan* plan);

    surrogate_context* context() const { return context_; }
    Rails& rails() { return *rails_; }
    const Rails& rails() const { return *rails_; }
    Fields& fields() { return *fields_; }
    const Counters& counters() const { return counters_; }
    double time_s() const { return time_s_; }
    int64_t n_step() const { return step_; }

    void set(const char* key, const char* value);
    void set_log(surrogate_log_function log, void* user);
    void set_fallback(surrogate_fallback_function own_step, void* user);
    void set_time(double time, int64_t number);

    template <class Array>
    void bind(const char* name, const char* unit, const Array* array);
    template <class Array>
    void bind_state(const char* name, const char* unit, const Array* array);
    void unbind();
    void feed(const char* output, const char* input);
    void conserve(const char* name, const char* field, const double* weight, double tolerance);

    surrogate_plan* plan() const { return plan_; }
    surrogate_status step(double dt_s, int32_t* outcome);
    /// Takes part in a step on a rank that failed before the step.
    surrogate_status step_failed(surrogate_status status, const char* text);
    void advance(double dt_s);

    void mark();
    void rewind();
    void save(const char* path);
    void restore(const char* path);

    std::string reason() const;
    std::string report() const;
    void log_report() const noexcept;

private:
    surrogate_status step(Problem problem, double dt_s, int32_t* outcome);
    surrogate_status take_integrals(const Problem& problem);
    surrogate_status evaluate(bool is_again, double dt_s, Problem* problem, Policy* action);
    surrogate_status run_plan(const Problem& problem);
    surrogate_status sum_and_judge(double dt_s, surrogate_status run_status, const Problem& problem,
                                   bool only_inputs, Policy* action);
    surrogate_status complete();
    surrogate_status leave_to_solver(double dt_s, int32_t* outcome);
    void time_goes_on(double dt_s);
    void log_rail(const Rails::Rail& rail) const noexcept;

    void require_state();
    void shape(Snapshot* snapshot);
    std::string prepare(const char* path, Snapshot* snapshot);
    void take(Snapshot* snapshot) const;
    void bring_back(const Snapshot& snapshot);

    surrogate_context* context_;
    surrogate_plan* plan_;
    std::optional<Model> model_;
    std::optional<Domain> input_, output_;
    int32_t rank_ = 0, n_rank_ = 1;
    bool agrees_ = false;  // runs of the plan return the same status on all ranks
    std::optional<Fields> fields_;
    std::optional<State> state_;
    std::optional<PointWeights> input_points_, output_points_;
    std::optional<Rails> rails_;
    Settings settings_;
    Counters counters_;
    std::vector<double> sums_, worst_;  // scratch of reductions
    double time_s_ = 0;
    int64_t step_ = 0;
    int64_t n_skip_ = 0;              // steps left to the solver by retry_after
    bool is_skipped_ = false;         // the last step was skipped
    bool asks_inputs_first_ = false;  // the last inputs were rejected; the same on all ranks
    int64_t n_bind_ = 0;              // number of changes of the set of state arrays
    Snapshot mark_;
    int64_t marked_bind_ = -1;  // n_bind_ at the time of the snapshot; -1: no snapshot
    CheckpointOrders orders_;
    surrogate_log_function log_ = nullptr;
    void* log_user_ = nullptr;
    surrogate_fallback_function fallback_ = nullptr;
    void* fallback_user_ = nullptr;
};

template <class Array>
void Loop::bind(const char* name, const char* unit, const Array* array) {
    input_points_->refresh();
    output_points_->refresh();
    ++n_bind_;
    fields_->bind(name, unit, array, input_points_->placement(), output_points_->placement());
}

template <class Array>
void Loop::bind_state(const char* name, const char* unit, const Array* array) {
    input_points_->refresh();
    ++n_bind_;
    state_->bind(name, unit, array, input_points_->placement());
}

}  // namespace surrogate::timeloop
