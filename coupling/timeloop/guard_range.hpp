// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "coupling/timeloop/fields.hpp"
#include "coupling/timeloop/guard_limits.hpp"
#include "coupling/timeloop/point_weights.hpp"

namespace surrogate::timeloop {

/// Checks inputs against the card's range of the training data: fields, numbers per cloud, and
/// coordinates of the domain. The card is read again for each evaluation, because a trainer may
/// have extended its ranges.
class RangeGuard final : public LimitsGuard {
public:
    RangeGuard(Fields* fields, const surrogate_plan* plan, const surrogate_model* model,
               const PointWeights* points);
    const char* name() const override { return "range"; }
    void set_share(double share) { share_ = share; }
    double share() const { return share_; }
    void begin() override;
    void look_at_input(size_t field, int64_t first, std::span<double> values) override;
    Finding judge(const double* sums) override;
    void describe(const Finding& finding, char* text, size_t size) const override;

private:
    struct Input {
        std::string name;
        int field;   // index in Fields; -1: a coordinate, or a number per cloud
        int number;  // index in Fields::numbers(); -1: not a number per cloud
    };
    void look_at_numbers(const Field& number, Limits* limits) const;

    Fields* fields_;
    const surrogate_plan* plan_;
    const surrogate_model* model_;
    const PointWeights* points_;
    std::vector<Input> inputs_;     // in the card's order, as limits_
    std::vector<size_t> of_field_;  // the input of a field
    double share_ = 0;
};

}  // namespace surrogate::timeloop
