// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmarks/scaling/model_case.hpp"
#include "surrogate/surrogate.hpp"

namespace surrogate::bench {

/// Returns the paper's Transformer: 128 x 256 legendre-gauss inside and out, 4 layers of 128
/// channels, three fields. mode: "neighborhood" or "global".
nlohmann::json paper_transformer(const std::string& mode, int64_t n_lat = 128, int64_t n_lon = 256);

/// Returns a single self-attention layer of 128 channels and one head on an equiangular grid, with
/// the Transformer's cutoff.
nlohmann::json attention_layer(const std::string& mode, int64_t n_lat, int64_t n_lon);

/// A model on whole rows of the grid, distributed evenly over the ranks of `context`.
class SphereRun {
public:
    SphereRun(const Context& context, const std::string& path, const Options& options);
    void run();
    const std::vector<float>& y() const { return y_; }
    const Plan& plan() const { return plan_; }

private:
    Domain make_domain(const Context& context);

    Model model_;
    int64_t n_point_ = 0, n_in_ = 0, n_out_ = 0;
    Domain domain_;
    Plan plan_;
    std::vector<float> x_, y_;  // (channel, point)
};

}  // namespace surrogate::bench
