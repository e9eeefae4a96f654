// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "coupling/timeloop/fields.hpp"
#include "coupling/timeloop/guard_limits.hpp"
#include "coupling/timeloop/point_weights.hpp"

namespace surrogate::timeloop {

/// Checks predictions against the card's min and max, or against bounds that the caller has set.
/// The card is read again for each evaluation, because a trainer may have extended its ranges.
class BoundsGuard final : public LimitsGuard {
public:
    BoundsGuard(Fields* fields, const surrogate_model* model, const PointWeights* points);
    const char* name() const override { return "bounds"; }
    void set_bounds(size_t output, double min, double max);
    void begin() override;
    void look_at_output(size_t field, int64_t first, std::span<double> values) override;
    Finding judge(const double* sums) override;
    void describe(const Finding& finding, char* text, size_t size) const override;

private:
    struct Bounds {
        double min, max;
    };
    Fields* fields_;
    const surrogate_model* model_;
    const PointWeights* points_;
    std::vector<std::optional<Bounds>> set_;  // indexed as limits_; set by the caller
};

}  // namespace surrogate::timeloop
