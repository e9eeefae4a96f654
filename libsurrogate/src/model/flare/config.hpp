// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/activation/activation.hpp"
#include "libsurrogate/src/model/network.hpp"

namespace surrogate::impl::flare {

/// Widths of one ResidualMLP: n_inner = -1 is a single affine layer, otherwise n_inner + 2 layers.
struct MlpShape {
    int64_t n_in = 0, n_hidden = 0, n_out = 0;
    int n_inner = -1;
    bool residual_in = false, residual_out = false;

    int64_t n_layer() const { return n_inner < 0 ? 1 : n_inner + 2; }
    double flops() const;  ///< a point
};

/// Hyperparameters of the official FLAREModel, checked. Source: vpuri3/FLARE.py, constructor of
/// FLAREModel.
struct Config {
    int64_t in_dim = 0, out_dim = 0, channel_dim = 64, num_blocks = 8, num_heads = 8,
            num_latents = 0;
    kernels::Activation activation = kernels::Activation::gelu_tanh;
    bool rmsnorm = false, out_proj_norm = true, qk_norm = false;
    double attn_scale = 1.0;
    MlpShape in_proj, out_proj, k_proj, v_proj, ffn;

    int64_t head_dim() const { return channel_dim / num_heads; }
    int64_t n_tensor() const;  ///< of layout
};

/// The card's `network` object; throws bad_file with near misses for unknown keys, not_supported
/// for other classes.
Config parse_config(const nlohmann::json& network);

/// All weights in the order of the official state_dict.
std::vector<TensorSpec> layout(const Config& config);

}  // namespace surrogate::impl::flare
