// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/scaling/model_case.hpp"
#include "surrogate/surrogate_train.hpp"

namespace surrogate::bench {

/// Returns the processor seconds of this process, all threads together.
double processor_seconds();

/// A model that can be trained on points by formula: cloud_positions, or hit_coordinates for hept.
struct TrainingCase {
    /// name: flare, sequoia, hept, erwin (a multiple of 4 layers), or a variant of bsa_network.
    TrainingCase(const std::string& name, int64_t n_layer);

    bool is_hits;
    int64_t n_axis, n_feature, n_output;
    ModelCase model;
};

/// Runs and backward runs of such a model on n points, with gradients of all its inputs, or of
/// fields only.
class DerivativeRun {
public:
    DerivativeRun(const Context& context, const TrainingCase& of, int64_t n, bool has_coordinates);
    void run() { plan_.run(); }
    void run_backward() { plan_.run_backward(); }

private:
    std::vector<double> x_;                // (n, n_axis)
    std::vector<float> features_;          // (n, n_feature)
    std::vector<double> outputs_, w_, g_;  // (output, n), (output, n), (axis and feature, n)
    Model model_;
    Domain domain_;
    Plan plan_;
};

/// Training steps of a model on n points, distributed over the ranks of `context`: forward pass,
/// mean squared error, backward pass, gradients of all ranks, AdamW; no dropout.
class TrainingRun {
public:
    TrainingRun(const Context& context, const TrainingCase& of, int64_t n, const Options& options);
    void run() { trainer_.step(); }
    const Plan& plan() const { return plan_; }

private:
    std::vector<double> x_;                 // (n_local, n_axis)
    std::vector<int64_t> ids_;              // (n_local)
    std::vector<float> features_, wanted_;  // (n_local, n_feature), (n_local, n_output)
    Model model_;
    Domain domain_;
    Plan plan_;
    Trainer trainer_;
};

}  // namespace surrogate::bench
