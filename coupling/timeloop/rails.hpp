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

/// All guards of a loop, and what they found.
class Rails {
public:
    struct Rail {
        Guard* guard;
        Finding last;   ///< of the step now or last made
        Finding worst;  ///< of the loop so far
        int64_t n_violations = 0;
    };

    /// inputs, outputs: how much the points of the two domains count. Local.
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

    /// In the order of the header's list.
    const std::array<Rail, 5>& rails() const { return rails_; }
    /// nullptr if there is no guard of this name.
    const Rail* find(const std::string& name) const;

    void begin_step();
    /// Before an evaluation: reads the inputs, and lets guards look.
    void look_at_inputs(bool is_again);
    /// Predictions as the solver's arrays will hold them.
    void look_at_outputs();

    /// Slots of a sum over the ranks: n_sum() numbers, and n_worst() of a maximum.
    int64_t n_sum() const;
    void write_sums(double* sums);
    /// Evaluates the sums. `worst` is called if a guard has triggered.
    ///   only_inputs  before an evaluation: guards of predictions are not asked
    Policy judge(const double* sums, bool only_inputs);
    /// Returns whether the last judge() has found inputs for which the surrogate makes no step. The
    /// same on all ranks.
    bool rejects_inputs() const;
    int64_t n_worst() const;
    void write_worst(double* worst) const;
    void complete(const double* worst);

    /// Keeps what the last evaluation has found. call(rail): of guards that speak for the first
    /// time.
    template <class Call>
    void record(const Call& call);

    /// A line for each guard that spoke in the last step.
    std::string reason() const;
    /// A table of all guards: policy, steps in which it spoke, the worst it found.
    std::string table() const;

private:
    static constexpr size_t n_input_guard = 3;  // range, distance, finite: the first of rails_

    bool is_active(const Guard& guard) const { return guard.policy() != Policy::off; }
    /// Returns whether the guard has never spoken before.
    static bool keep(Rail* rail, const Finding& found);

    Fields* fields_;
    PointWeights *inputs_, *outputs_;
    FiniteGuard finite_;
    RangeGuard range_;
    DistanceGuard distance_;
    BoundsGuard bounds_;
    DriftGuard drift_;
    std::array<Rail, 5> rails_;
    std::array<Finding, 5> found_;  // of the last evaluation, in the same order
};

template <class Call>
void Rails::record(const Call& call) {
    for (size_t i = 0; i < rails_.size(); ++i) {
        if (found_[i].has_spoken() && keep(&rails_[i], found_[i])) call(rails_[i]);
    }
}

}  // namespace surrogate::timeloop
