// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmarks/scaling/model_case.hpp"
#include "surrogate/surrogate.hpp"

namespace surrogate::bench {

/// Returns Ball Sparse Attention of the paper: C = 64, 8 heads, balls of 256, blocks and groups of
/// 8, 4 chosen blocks. variant: "bsa", "group_compression", "no_group", "mean", "ball", "full".
nlohmann::json bsa_network(const std::string& variant, int64_t depth);

/// Returns Erwin: 32 and 64 channels, heads of 16, balls of 128, 8 nearest neighbors. depth: of
/// which half in the middle.
nlohmann::json erwin_network(int64_t depth);

/// Returns Sequoia on points: C = 128, 4 heads of 128, k = 16.
nlohmann::json sequoia_network(int64_t depth);

/// Returns this rank's positions (n_local, 3) of a cloud of n points in a cube, distributed evenly
/// over the ranks of `context`, each rank a slab of the cube. They are given by a formula, the same
/// for any number of ranks.
std::vector<double> cloud_positions(const Context& context, int64_t n);

/// A model on the cloud of cloud_positions.
class CloudRun {
public:
    CloudRun(const Context& context, const std::string& path, int64_t n, const Options& options);
    void run();
    /// Changes the positions: the next run plans again.
    void move();
    const std::vector<float>& y() const { return y_; }
    const Plan& plan() const { return plan_; }

private:
    Domain make_domain(const Context& context, int64_t n);

    Model model_;
    std::vector<double> x_;     // (n_local, 3)
    std::vector<int64_t> ids_;  // (n_local)
    Domain domain_;
    Plan plan_;
    std::vector<float> y_;  // (n_local)
};

}  // namespace surrogate::bench
