// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "coupling/timeloop/fields.hpp"
#include "coupling/timeloop/guard.hpp"
#include "coupling/timeloop/point_weights.hpp"

namespace surrogate::timeloop {

/// Checks inputs and predictions for NaN and infinite values.
class FiniteGuard final : public Guard {
public:
    FiniteGuard(Fields* fields, const PointWeights* inputs, const PointWeights* outputs);
    const char* name() const override { return "finite"; }
    bool can_be_off() const override { return false; }
    void begin() override;
    void look_at_input(size_t field, int64_t first, std::span<double> values) override;
    void look_at_output(size_t field, int64_t first, std::span<double> values) override;
    int64_t n_sum() const override { return static_cast<int64_t>(counts_.size()); }
    void write_sums(double* sums) override;
    Finding judge(const double* sums) override;
    void describe(const Finding& finding, char* text, size_t size) const override;

    /// Returns true if an input of this rank is not finite.
    bool has_bad_input() const;
    /// Returns true if a result of this guard is about an input.
    static bool is_of_input(const Finding& finding) { return finding.value == 1; }

private:
    Fields* fields_;
    const PointWeights *inputs_, *outputs_;
    std::vector<int64_t> counts_;  // inputs first, then outputs
};

}  // namespace surrogate::timeloop
