// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "kernels/activation/activation.hpp"
#include "kernels/sphere/resample.hpp"
#include "kernels/sphere/stencil.hpp"
#include "libsurrogate/src/file/card.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"

/// Resolved card of a sphere model: every size, grid and cutoff that the network is built from.
/// Names and defaults agree with the official constructors. Source: specs of the sphere and of its
/// models; NVIDIA/torch-harmonics 0.9.
namespace surrogate::impl::sphere {

using kernels::Grid;
using kernels::GridKind;
using kernels::sphere::Filter;

/// Discrete-continuous convolution. Weight (n_out, n_in / groups, n_basis).
struct Convolution {
    Grid out, in;
    Filter filter;
    int64_t n_in = 0, n_out = 0, groups = 1;
    bool bias = false;
    bool is_transposed = false;

    int64_t n_basis() const { return filter.n_basis(); }
};

struct Attention {
    Grid out, in;  ///< of queries and results; of keys and values
    bool is_global = false;
    int64_t n_in = 0, n_key = 0, n_value = 0, n_head = 1;
    bool bias = false, qk_norm = false;
    double scale = 1;         ///< resolved: 1 / sqrt(n_key / n_head) unless given
    bool scales_bias = true;  ///< false before 0.9.1, where the scale multiplied the input of q
    double theta_cutoff = 0;  ///< of neighborhoods
    /// Rate of dropout of attention weights, which training does not apply. The official code has
    /// it in global attention only.
    double drop_rate = 0;

    int64_t key_dim() const { return n_key / n_head; }
    int64_t value_dim() const { return n_value / n_head; }
};

struct Resample {
    Grid out, in;
    kernels::sphere::Interpolation interpolation = kernels::sphere::Interpolation::bilinear;
    int64_t n_channel = 0;  ///< 0: a single layer, which takes any; resolved by the check case
};

enum class BlockNorm { none, layer, instance };
enum class Embedding { none, spectral, sequence, learnable_lat, learnable_latlon };

struct Transformer {
    Grid image, inner;
    Convolution encoder, decoder;
    Attention attention;
    BlockNorm norm = BlockNorm::none;
    Embedding embedding = Embedding::spectral;
    kernels::Activation activation = kernels::Activation::gelu;
    int64_t n_layer = 0, n_hidden = 0;
    bool use_mlp = true, residual = false, upsample_sht = false;
    double drop_rate = 0;       ///< of the encoder's result and in the MLPs
    double drop_path_rate = 0;  ///< of the MLP's branch in the last block; 0 in the first

    bool has_dropout() const { return drop_rate > 0; }  ///< names the MLP's second layer fwd.3
    int64_t n_channel() const { return encoder.n_out; }
};

/// One level of the SegFormer.
struct SegformerLevel {
    Convolution merge;  ///< from the level above, or the image
    Attention attention;
    Convolution mix;       ///< depthwise, in the feed-forward blocks
    Convolution upsample;  ///< transposed; used if upsampling is "conv"
    int64_t depth = 1;
    int64_t n_before = 0;                 ///< repetitions of the levels before
    std::vector<double> drop_path_rates;  ///< (depth)

    const Grid& grid() const { return merge.out; }
    int64_t n_channel() const { return merge.n_out; }
};

struct Segformer {
    Grid image;
    std::vector<SegformerLevel> levels;
    kernels::Activation activation = kernels::Activation::gelu;
    int64_t n_out = 0;
    double drop_path_rate = 0;  ///< of the branches of the last repetition; 0 in the first
    bool upsamples_by_convolution = false;
};

using Config = std::variant<Transformer, Segformer, Attention, Convolution, Resample>;

/// Throws bad_file naming the key, what was expected and what was found; not_supported for what is
/// valid and not built.
Config parse_config(const Card& card);

/// Lists names and shapes of all weights, in the order of the state_dict. Throws bad_file if the
/// card asks for far more than the file's n_found tensors.
std::vector<TensorSpec> layout(const Config& config, int64_t n_found);

}  // namespace surrogate::impl::sphere
