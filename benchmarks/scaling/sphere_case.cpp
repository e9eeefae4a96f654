// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/scaling/sphere_case.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>

#include "libsurrogate/src/model/sphere/config.hpp"
#include "tests/support/model_writer.hpp"

namespace surrogate::bench {

namespace {

/// Weights of trained models' size, as the spec's fill rule has them.
float weight(const impl::TensorSpec& spec, int64_t i) {
    const double wave =
        std::sin(1.3 * static_cast<double>(i) + static_cast<double>(spec.name.size()));
    if (spec.name.find("norm") != std::string::npos && spec.name.ends_with("weight"))
        return static_cast<float>(1 + 0.1 * wave);
    if (spec.name.ends_with("bias")) return static_cast<float>(0.1 * wave);
    double n = 1;
    for (size_t d = 1; d < spec.shape.size(); ++d) n *= static_cast<double>(spec.shape[d]);
    return static_cast<float>(wave / std::sqrt(n));
}

surrogate_array channels(std::vector<float>& values, int64_t n_point, int64_t n_channel) {
    return {values.data(), {n_point, n_channel}, {1, n_point}, SURROGATE_FLOAT32, SURROGATE_HOST};
}

}  // namespace

SphereCase::SphereCase(const nlohmann::json& network) {
    test::ModelWriter writer;
    writer.card = {{"format", 1}, {"family", "sphere"}, {"network", network}};
    impl::Card card;
    card.family = "sphere";
    card.network = network;
    for (const impl::TensorSpec& spec :
         impl::sphere::layout(impl::sphere::parse_config(card), 1 << 20)) {
        if (spec.is_optional) continue;
        int64_t n = 1;
        for (const int64_t extent : spec.shape) n *= extent;
        std::vector<float> values(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = weight(spec, i);
        writer.tensors.push_back(test::float_tensor(spec.name, spec.shape, values));
    }
    static int n_case = 0;
    path_ = "sphere_case_" + std::to_string(::getpid()) + "_" + std::to_string(n_case++) +
            ".safetensors";
    std::ofstream(path_, std::ios::binary) << writer.bytes();
}

SphereCase::~SphereCase() {
    std::remove(path_.c_str());
}

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
