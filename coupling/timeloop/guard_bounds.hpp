// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "coupling/timeloop/fields.hpp"
#include "coupling/timeloop/guard_limits.hpp"
#include "coupling/timeloop/point_weights.hpp"

namespace surrogate::timeloop {

/// Predictions outside the card's min and max, or those that the caller has set.
class BoundsGuard final : public LimitsGuard {
public:
    BoundsGuard(Fields* fields, const PointWeights* points);
    const char* name() const override { return "bounds"; }
    void set_bounds(size_t output, double min, double max);
    void begin() override;
    void look_at_output(size_t field, int64_t first, std::span<double> values) override;
    Finding judge(const double* sums) override;
    void describe(const Finding& finding, char* text, size_t size) const override;

private:
    struct Output {
        double min, max;
    };
    Fields* fields_;
    const PointWeights* points_;
    std::vector<Output> outputs_;  // as limits_
};

}  // namespace surrogate::timeloop
