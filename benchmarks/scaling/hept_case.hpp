// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "surrogate/surrogate.hpp"

namespace surrogate::bench {

/// Returns HEPT in the shape of the published tracking model: 3 tables, 8 heads of 24, blocks of
/// 100.
nlohmann::json hept_network(int64_t n_layer);

/// Numbers of a hit of that model.
constexpr int64_t n_hit_coordinate = 6, n_hit_feature = 15, n_hit_output = 12;

/// Returns this rank's coordinates (n_local, 6) of n hits of a detector of ten layers, distributed
/// over the ranks of `context` by azimuth. Hits are given by a formula, the same for any number of
/// ranks.
std::vector<double> hit_coordinates(const Context& context, int64_t n);

/// Returns the features (n_local, 15) of the hits with these ids.
std::vector<float> hit_features(const std::vector<int64_t>& ids);

/// A model on the hits of hit_coordinates.
class HitRun {
public:
    HitRun(const Context& context, const std::string& path, int64_t n, const Options& options);
    void run();
    /// Rotates the detector: the next run plans again.
    void move();
    const std::vector<float>& y() const { return y_; }
    const Plan& plan() const { return plan_; }

private:
    Domain make_domain(const Context& context, int64_t n);

    Model model_;
    std::vector<double> coords_;  // (n_local, 6)
    std::vector<float> x_;        // (n_local, 15)
    std::vector<int64_t> ids_;    // (n_local)
    Domain domain_;
    Plan plan_;
    std::vector<float> y_;  // (n_local, 12)
};

}  // namespace surrogate::bench
