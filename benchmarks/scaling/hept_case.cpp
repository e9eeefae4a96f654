// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/scaling/hept_case.hpp"

#include <cmath>
#include <numbers>

#include "benchmarks/scaling/point_formula.hpp"

namespace surrogate::bench {

nlohmann::json hept_network(int64_t n_layer) {
    return {{"block_size", 100},
            {"n_hashes", 3},
            {"num_regions", 150},
            {"num_heads", 8},
            {"h_dim", 24},
            {"n_layers", n_layer},
            {"num_w_per_dist", 10},
            {"in_dim", n_hit_feature},
            {"coords_dim", n_hit_coordinate},
            {"task", "tracking"},
            {"padding", "duplicate"}};
}

std::vector<double> hit_coordinates(const Context& context, int64_t n) {
    const Share share = share_of(context, n);
    std::vector<double> coords;
    for (int64_t i = share.first; i < share.first + share.n; ++i) {
        const auto seed = static_cast<uint64_t>(17 * i);
        const double phi =
            std::numbers::pi *
            (2 * (static_cast<double>(i) + uniform(seed)) / static_cast<double>(n) - 1);
        const double eta = 5 * uniform(seed + 1) - 2.5;
        const double r = 0.03 + 0.1 * std::floor(10 * uniform(seed + 2));
        const double z = r * std::sinh(eta);
        for (const double c : {eta, phi, r, phi / std::numbers::pi, z, eta}) coords.push_back(c);
    }
    return coords;
}

std::vector<float> hit_features(const std::vector<int64_t>& ids) {
    std::vector<float> x;
    for (const int64_t i : ids) {
        for (uint64_t f = 0; f < n_hit_feature; ++f)
            x.push_back(static_cast<float>(2 * uniform(static_cast<uint64_t>(17 * i) + 2 + f) - 1));
    }
    return x;
}

HitRun::HitRun(const Context& context, const std::string& path, int64_t n, const Options& options)
    : model_(context, path), domain_(make_domain(context, n)), plan_(model_, domain_, options) {
    y_.resize(ids_.size() * n_hit_output);
}

Domain HitRun::make_domain(const Context& context, int64_t n) {
    coords_ = hit_coordinates(context, n);
    ids_ = global_ids(context, n);
    x_ = hit_features(ids_);
    return Domain(context, matrix(coords_.data(), std::ssize(ids_), n_hit_coordinate), ids_.data());
}

void HitRun::run() {
    const int64_t n = std::ssize(ids_);
    plan_.run_network({{"x", matrix(x_.data(), n, n_hit_feature)}},
                      {{"y", matrix(y_.data(), n, n_hit_output)}});
}

void HitRun::move() {
    for (size_t i = 1; i < coords_.size(); i += n_hit_coordinate) {
        double& phi = coords_[i];
        phi += phi < 2 ? 1 : 1 - 2 * std::numbers::pi;
        coords_[i + 2] = phi / std::numbers::pi;
    }
    domain_.update_points(matrix(coords_.data(), std::ssize(ids_), n_hit_coordinate), ids_.data());
}

}  // namespace surrogate::bench
