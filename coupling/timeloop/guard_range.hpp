// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "coupling/timeloop/fields.hpp"
#include "coupling/timeloop/guard.hpp"
#include "coupling/timeloop/limits.hpp"
#include "coupling/timeloop/point_weights.hpp"

namespace surrogate::timeloop {

/// Inputs outside the card's range of the training data: fields, and coordinates of the domain.
class RangeGuard final : public Guard {
public:
    RangeGuard(Fields* fields, const surrogate_plan* plan, const surrogate_model* model,
               const PointWeights* points);
    const char* name() const override { return "range"; }
    bool can_correct() const override { return true; }
    void set_share(double share) { share_ = share; }
    double share() const { return share_; }
    void begin() override;
    void look_at_input(size_t field, int64_t first, std::span<double> values) override;
    int64_t n_sum() const override { return static_cast<int64_t>(inputs_.size()); }
    void write_sums(double* sums) override;
    Finding judge(const double* sums) override;
    int64_t n_worst() const override { return 2 * n_sum(); }
    void write_worst(double* worst) const override;
    void complete(const double* worst, Finding* finding) const override;
    void describe(const Finding& finding, char* text, size_t size) const override;

private:
    struct Input {
        std::string name;
        int field;  // of Fields; -1: a coordinate
        double min, max;
        Limits limits;
    };
    Fields* fields_;
    const surrogate_plan* plan_;
    const PointWeights* points_;
    std::vector<Input> inputs_;     // in the card's order
    std::vector<size_t> of_field_;  // the input of a field
    double share_ = 0;
    size_t spoken_ = 0;
};

}  // namespace surrogate::timeloop
