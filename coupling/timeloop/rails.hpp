// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include "coupling/timeloop/fields.hpp"
#include "coupling/timeloop/guard_bounds.hpp"
#include "coupling/timeloop/guard_distance.hpp"
#include "coupling/timeloop/guard_drift.hpp"
#include "coupling/timeloop/guard_finite.hpp"
#include "coupling/timeloop/guard_range.hpp"
#include "coupling/timeloop/point_weights.hpp"

namespace surrogate::timeloop {

/// Holds all guards of a loop, and their results.
class Rails {
public:
    struct Rail {
        Guard* guard;
        Finding last;   ///< result in the current or last step
        Finding worst;  ///< worst result of the loop so far
        int64_t n_violations = 0;
    };

    /// Creates the guards. `inputs` and `outputs` are the weights of the points of the two domains.
    /// Local.
    Rails(const surrogate_plan* plan, const surrogate_model* model, Fields* fields,
          PointWeights* inputs, PointWeights* outputs);

    FiniteGuard& finite() { return finite_; }
    RangeGuard& range() { return range_; }
    const RangeGuard& range() const { return range_; }
    DistanceGuard& distance() { return distance_; }
    const DistanceGuard& distance() const { return distance_; }
    BoundsGuard& bounds() { return bounds_; }
    DriftGuard& drift() { return drift_; }
    const DriftGuard& drift() const { return drift_; }

    /// Returns the guards in the order of the public header.
    const std::array<Rail, 5>& rails() const { return rails_; }
    /// Returns nullptr for an unknown name.
    const Rail* find(const std::string& name) const;

    void begin_step();
    /// Reads the inputs before an evaluation, and lets the guards check them.
    void look_at_inputs(bool is_again);
    /// Lets the guards check the predictions, rounded to the type of the solver's arrays.
    void look_at_outputs();

    /// Returns the number of slots in the sum over the ranks; n_worst() returns the slots in the
    /// maximum.
    int64_t n_sum() const;
    void write_sums(double* sums);
    /// Evaluates the sums. If a guard has triggered, the caller computes the maximum and calls
    /// complete().
    ///   only_inputs  before an evaluation: guards of predictions are not called
    Policy judge(const double* sums, bool only_inputs);
    /// Returns true if the last judge() found inputs for which the surrogate makes no step. The
    /// result is the same on all ranks.
    bool rejects_inputs() const;
    int64_t n_worst() const;
    void write_worst(double* worst) const;
    void complete(const double* worst);

    /// Stores the results of the last evaluation. Calls call(rail) for each guard that triggers for
    /// the first time in the loop.
    template <class Call>
    void record(const Call& call);

    /// Returns a line for each guard that triggered in the last step.
    std::string reason() const;
    /// Returns a table of all guards: policy, number of steps in which it triggered, worst result.
    std::string table() const;

private:
    static constexpr size_t n_input_guard = 3;  // range, distance, finite: the first of rails_

    bool is_active(const Guard& guard) const { return guard.policy() != Policy::off; }
    /// Returns true if the guard has not triggered before.
    static bool keep(Rail* rail, const Finding& found);

    Fields* fields_;
    PointWeights *inputs_, *outputs_;
    FiniteGuard finite_;
    RangeGuard range_;
    DistanceGuard distance_;
    BoundsGuard bounds_;
    DriftGuard drift_;
    std::array<Rail, 5> rails_;
    std::array<Finding, 5> found_;  // of the last evaluation, in the order of rails_
};

template <class Call>
void Rails::record(const Call& call) {
    for (size_t i = 0; i < rails_.size(); ++i) {
        if (found_[i].has_spoken() && keep(&rails_[i], found_[i])) call(rails_[i]);
    }
}

}  // namespace surrogate::timeloop
