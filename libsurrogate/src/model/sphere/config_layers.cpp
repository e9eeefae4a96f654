// SPDX-License-Identifier: Apache-2.0
// Cards of the single layers of the sphere.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/sphere/config_readers.hpp"

namespace surrogate::impl::sphere {

namespace {

/// Default cutoff of a single layer.
double layer_cutoff(const Grid& grid, const Conventions& conventions) {
    if (conventions.old_cutoff) return std::numbers::pi / static_cast<double>(grid.n_lat - 1);
    return largest_gap(kernels::latitudes(grid.kind, grid.n_lat));
}

}  // namespace

Attention parse_attention(const nlohmann::json& network, bool is_global,
                          const Conventions& conventions) {
    Hyperparameters read(network, is_global ? "AttentionS2" : "NeighborhoodAttentionS2");
    Attention a;
    read.text("layer", "");
    a.is_global = is_global;
    a.n_in = read.integer("in_channels", 1, max_channels, 0);
    if (a.n_in == 0) refuse("network.in_channels is missing");
    a.n_head = read.integer("num_heads", 1, max_channels, 1);
    for (const char* key : {"in_shape", "out_shape"})
        if (!read.has(key)) refuse(std::string("network.") + key + " is missing");
    a.in = read_grid(read, "in_shape", "grid_in", {}, 0);
    a.out = read_grid(read, "out_shape", "grid_out", {}, 0);
    a.qk_norm = read.boolean("use_qknorm", false);
    a.bias = read.boolean("bias", true);
    a.n_key = read.integer("k_channels", 1, max_channels, a.n_in);
    a.n_value = read.integer("out_channels", 1, max_channels, a.n_in);
    const double drop_rate = read.rate("drop_rate", 0);
    if (is_global) a.drop_rate = drop_rate;
    read.boolean("optimized_kernel", true);  // a choice of the official code
    const bool up = a.in.n_lon % a.out.n_lon != 0 && a.out.n_lon % a.in.n_lon == 0;
    require_divides("num_heads", a.n_head, a.n_key);
    require_divides("num_heads", a.n_head, a.n_value);
    const bool old = conventions.old_scale && !is_global;
    const double width = static_cast<double>(old ? a.n_key : a.key_dim());
    a.scale = read.number("scale", 1 / std::sqrt(width));
    a.scales_bias = !old;
    a.theta_cutoff = is_global ? 0 : read.positive("theta_cutoff", 0);
    read.refuse_unknown();
    if (is_global) return a;
    if (!up && a.in.n_lon % a.out.n_lon != 0) {
        refuse("neither of " + std::to_string(a.in.n_lon) + " and " + std::to_string(a.out.n_lon) +
               " longitudes divides the other; output longitudes that would work: " +
               nearest_multiples(a.out.n_lon, a.in.n_lon));
    }
    if (a.theta_cutoff == 0) a.theta_cutoff = layer_cutoff(up ? a.in : a.out, conventions);
    if (conventions.old_shift && a.in.n_lon != a.out.n_lon) {
        throw Error(
            Status::not_supported,
            "card: releases of torch-harmonics before 0.9.1 read the wrong longitudes where "
            "input and output have different numbers of them; such a layer is not built");
    }
    return a;
}

Convolution parse_convolution(const nlohmann::json& network, bool is_transposed,
                              Conventions conventions) {
    Hyperparameters read(
        network, is_transposed ? "DiscreteContinuousConvTransposeS2" : "DiscreteContinuousConvS2");
    Convolution c;
    read.text("layer", "");
    c.is_transposed = is_transposed;
    c.n_in = read.integer("in_channels", 1, max_channels, 0);
    c.n_out = read.integer("out_channels", 1, max_channels, 0);
    if (c.n_in == 0) refuse("network.in_channels is missing");
    if (c.n_out == 0) refuse("network.out_channels is missing");
    for (const char* key : {"in_shape", "out_shape", "kernel_shape"})
        if (!read.has(key)) refuse(std::string("network.") + key + " is missing");
    c.in = read_grid(read, "in_shape", "grid_in", {}, 0);
    c.out = read_grid(read, "out_shape", "grid_out", {}, 0);
    if (read.has("basis_norm_mode"))
        conventions.norm = basis_norms[read.choice("basis_norm_mode", norm_names, 0)];
    c.filter = read_filter(read, "kernel_shape", "basis_type", 0, {}, conventions);
    c.groups = read.integer("groups", 1, max_channels, 1);
    c.bias = read.boolean("bias", true);
    c.filter.theta_cutoff = read.positive("theta_cutoff", 0);
    read.boolean("optimized_kernel", true);
    read.refuse_unknown();
    require_divides("groups", c.groups, c.n_in);
    require_divides("groups", c.groups, c.n_out);
    const Grid &fine = is_transposed ? c.out : c.in, &coarse = is_transposed ? c.in : c.out;
    require_divisible(fine.n_lon, coarse.n_lon,
                      std::string(" (those of the ") + (is_transposed ? "input)" : "output)"));
    if (c.filter.theta_cutoff == 0) c.filter.theta_cutoff = layer_cutoff(coarse, conventions);
    return c;
}

Resample parse_resample(const nlohmann::json& network) {
    Hyperparameters read(network, "ResampleS2");
    Resample r;
    read.text("layer", "");
    for (const char* key : {"in_shape", "out_shape"})
        if (!read.has(key)) refuse(std::string("network.") + key + " is missing");
    r.in = read_grid(read, "in_shape", "grid_in", {}, 0);
    r.out = read_grid(read, "out_shape", "grid_out", {}, 0);
    r.interpolation = static_cast<kernels::sphere::Interpolation>(
        read.choice("mode", {"bilinear", "bilinear-spherical"}, 0));
    read.refuse_unknown();
    return r;
}

}  // namespace surrogate::impl::sphere
