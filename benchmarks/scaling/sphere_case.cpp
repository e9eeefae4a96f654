// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/scaling/sphere_case.hpp"

#include <cmath>

namespace surrogate::bench {

namespace {

surrogate_array channels(std::vector<float>& values, int64_t n_point, int64_t n_channel) {
    return {values.data(), {n_point, n_channel}, {1, n_point}, SURROGATE_FLOAT32, SURROGATE_HOST};
}

}  // namespace

nlohmann::json paper_transformer(const std::string& mode, int64_t n_lat, int64_t n_lon) {
    return {{"model", "SphericalTransformer"},
            {"img_size", {n_lat, n_lon}},
            {"grid", "legendre-gauss"},
            {"grid_internal", "legendre-gauss"},
            {"scale_factor", 2},
            {"embed_dim", 128},
            {"num_layers", 4},
            {"encoder_kernel_shape", {5, 4}},
            {"filter_basis_type", "piecewise linear"},
            {"normalization_layer", "instance_norm"},
            {"residual_prediction", true},
            {"attention_mode", mode}};
}

nlohmann::json attention_layer(const std::string& mode, int64_t n_lat, int64_t n_lon) {
    nlohmann::json network = {{"in_channels", 128},
                              {"in_shape", {n_lat, n_lon}},
                              {"out_shape", {n_lat, n_lon}},
                              {"bias", true}};
    network["layer"] = mode == "global" ? "AttentionS2" : "NeighborhoodAttentionS2";
    if (mode != "global")
        network["theta_cutoff"] = 7 * std::sqrt(M_PI) / static_cast<double>(n_lat - 1);
    return network;
}

SphereRun::SphereRun(const Context& context, const std::string& path, const Options& options)
    : model_(context, path), domain_(make_domain(context)), plan_(model_, domain_, options) {
    for (const surrogate_port_info& port : model_.ports())
        (port.is_output ? n_out_ : n_in_) = port.n_channel;
    n_point_ = domain_.n_local();
    x_.resize(static_cast<size_t>(n_point_ * n_in_));
    y_.resize(static_cast<size_t>(n_point_ * n_out_));
    for (size_t i = 0; i < x_.size(); ++i)
        x_[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i)));
}

Domain SphereRun::make_domain(const Context& context) {
    const surrogate_domain_info grid = model_.input_domain();
    int64_t block[4];
    check(surrogate_partition_sphere("contiguous", grid.n_lat, grid.n_lon, context.rank(),
                                     context.size(), block));
    surrogate_sphere sphere{};
    sphere.grid = grid.grid;
    sphere.n_lat = grid.n_lat;
    sphere.n_lon = grid.n_lon;
    sphere.first_lat = block[0];
    sphere.n_lat_local = block[1];
    sphere.n_lon_local = block[3];
    return Domain(context, sphere);
}

void SphereRun::run() {
    plan_.run_network({{"x", channels(x_, n_point_, n_in_)}},
                      {{"y", channels(y_, n_point_, n_out_)}});
}

}  // namespace surrogate::bench
