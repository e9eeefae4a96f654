// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "coupling/timeloop/exact_sum.hpp"
#include "coupling/timeloop/fields.hpp"
#include "coupling/timeloop/guard.hpp"
#include "coupling/timeloop/point_weights.hpp"

namespace surrogate::timeloop {

/// Checks the Mahalanobis distance of the pooled inputs from the pooled inputs of the training
/// samples; see surrogate_model_input_statistics.
class DistanceGuard final : public Guard {
public:
    /// Leaves the policy off if the card has no statistics; it must then stay off.
    DistanceGuard(Fields* fields, const surrogate_model* model, const PointWeights* points);
    const char* name() const override { return "distance"; }
    bool is_possible() const { return n_feature_ > 0; }
    void set_factor(double factor) { factor_ = factor; }
    double factor() const { return factor_; }
    /// Sets the sum of all weights. Must be called before judge().
    void set_total(double total) { total_ = total; }
    void begin() override;
    void look_at_input(size_t field, int64_t first, std::span<double> values) override;
    int64_t n_sum() const override;
    void write_sums(double* sums) override;
    Finding judge(const double* sums) override;
    void describe(const Finding& finding, char* text, size_t size) const override;

private:
    struct Moments {
        ExactSum first, second;
    };
    double distance_of(const double* sums);

    Fields* fields_;
    const PointWeights* points_;
    size_t n_feature_ = 0;
    std::vector<double> mean_, deviation_;  // (n_feature) of the training samples
    std::vector<double> lower_;             // (n_feature, n_feature): covariance = L L^T
    std::vector<double> features_;          // (n_feature), scratch of judge()
    std::vector<Moments> moments_;
    double allowed_ = 0, factor_ = 1, total_ = 0;
    int64_t n_bad_ = 0;
    size_t spoken_ = 0;  // the field with the largest distance of its own
};

}  // namespace surrogate::timeloop
