// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "coupling/timeloop/fields.hpp"
#include "coupling/timeloop/guard.hpp"
#include "coupling/timeloop/limits.hpp"
#include "coupling/timeloop/point_weights.hpp"

namespace surrogate::timeloop {

/// Predictions outside the card's min and max, or those that the caller has set.
class BoundsGuard final : public Guard {
public:
    BoundsGuard(Fields* fields, const PointWeights* points);
    const char* name() const override { return "bounds"; }
    bool can_correct() const override { return true; }
    void set_bounds(size_t output, double min, double max);
    void begin() override;
    void look_at_output(size_t field, int64_t first, std::span<double> values) override;
    int64_t n_sum() const override { return static_cast<int64_t>(outputs_.size()); }
    void write_sums(double* sums) override;
    Finding judge(const double* sums) override;
    int64_t n_worst() const override { return 2 * n_sum(); }
    void write_worst(double* worst) const override;
    void complete(const double* worst, Finding* finding) const override;
    void describe(const Finding& finding, char* text, size_t size) const override;

private:
    struct Output {
        double min, max;
        Limits limits;
    };
    Fields* fields_;
    const PointWeights* points_;
    std::vector<Output> outputs_;
    size_t spoken_ = 0;
};

}  // namespace surrogate::timeloop
