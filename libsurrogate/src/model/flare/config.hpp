// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kernels/activation/activation.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"

namespace surrogate::impl::flare {

/// Widths of one ResidualMLP: n_inner = -1 is a single affine layer, otherwise n_inner + 2 layers.
struct MlpShape {
    int64_t n_in = 0, n_hidden = 0, n_out = 0;
    int n_inner = -1;
    bool residual_in = false, residual_out = false;
    /// Weights are called as in torch.nn.Sequential, with an activation between two layers. A
    /// single layer is the module itself.
    bool is_sequential = false;

    int64_t n_layer() const { return n_inner < 0 ? 1 : n_inner + 2; }
    double flops() const;  ///< a point
};

/// Reduction of a sequence to one prediction; none: each token has its own.
enum class Pool { none, mean, max, cls };

/// Position code of tokens: a table of sines and cosines with a learned factor, a learned
/// table, or a turn of the keys.
enum class PositionCode { sinusoid, learned, rotary };

/// Parts of ModelWrapper besides the blocks of a FLAREModel.
struct SequenceConfig {
    int64_t n_word = 0;      ///< rows of the token table, including the padding row
    int64_t padding = -1;    ///< padding word; its row is not trained. < 0: none
    int64_t max_length = 0;  ///< rows of the position tables, including the class token
    Pool pool = Pool::mean;
    PositionCode position = PositionCode::sinusoid;
    /// Rates of dropout in training. attn_drop, of attention weights, is not applied.
    double emb_drop = 0, cls_drop = 0, attn_drop = 0, proj_drop = 0;

    bool is_normed() const { return pool == Pool::mean || pool == Pool::max; }
    bool has_class_token() const { return pool == Pool::cls; }
};

/// Parts of PhysicsNeMo's FLARE besides the blocks of a FLAREModel.
struct PhysicsNemoConfig {
    int64_t embedding_dim = 0, functional_dim = 0;
    bool time_input = false;
    double dropout = 0;  ///< of the results of attention, in training
    MlpShape time_fc;    ///< of the code of the time
};

/// Sites of dropout: of words, of the head's input, of the result of attention in block 0. Block i
/// has the site attention_site + i.
constexpr int64_t word_site = 0, head_site = 1, attention_site = 2;

/// The classes: FLAREModel (and FLAREExperimentalModel), BigFLAREModel, ModelWrapper of the
/// official code, and FLARE of PhysicsNeMo.
enum class Variant { model, ablation, sequence, physicsnemo };

/// Holds the checked hyperparameters of a class. Source: constructors of vpuri3/FLARE.py and of
/// physicsnemo.models.flare.
///   ablation  all hyperparameters of FLAREModel, and in addition latents that all heads share,
///             latent_blocks, and widths of in_proj and out_proj
///   sequence  in_proj does not exist; out_norm and out_proj are final_norm and the head. If the
///             head has two layers, the first one ends in PyTorch's GELU
///   physicsnemo  k_proj and v_proj are one layer for all heads, from the channels of a head to
///             the channels of a head, of the result of a common layer in_project
struct Config {
    Variant variant = Variant::model;
    int64_t in_dim = 0, out_dim = 0, channel_dim = 64, num_blocks = 8, num_heads = 8,
            num_latents = 0;
    kernels::Activation activation = kernels::Activation::gelu_tanh;
    bool rmsnorm = false, out_proj_norm = true, qk_norm = false;
    double attn_scale = 1.0;
    MlpShape in_proj, out_proj, k_proj, v_proj, ffn;
    bool point_weights = false;  ///< encode counts points with the weights of the domain
    bool shared_latents = false;
    int64_t num_latent_blocks = 0;
    SequenceConfig sequence;
    PhysicsNemoConfig physicsnemo;

    bool is_sequence() const { return variant == Variant::sequence; }
    bool is_physicsnemo() const { return variant == Variant::physicsnemo; }
    int64_t head_dim() const { return channel_dim / num_heads; }
    int64_t n_tensor() const;                 ///< of layout, at most
    double flops_of_keys_and_values() const;  ///< of a point in a block
};

/// Reads the card's `network` object. Throws bad_file with near misses for unknown keys,
/// not_supported for variants that are not implemented.
Config parse_config(const nlohmann::json& network);

/// Lists all weights in the order of the official state_dict.
std::vector<TensorSpec> layout(const Config& config);

/// Names of the common parts in the variants. Names in `block` are relative to a block.
struct TensorNames {
    std::string in_proj, out_norm, out_proj;
    std::string out_proj_layers[2];  ///< of an out_proj of two layers
    struct {
        std::string norm1, norm2, latent_q, k_proj, v_proj, out_proj, ffn;
        std::string in_project;  ///< empty: there is none
    } block;
};
TensorNames names_of(const Config& config);

/// Returns the name of the class in cards.
const char* class_name(const Config& config);

/// Returns the names of layer `j` of a ResidualMLP called `name`.
std::string layer_name(const std::string& name, const MlpShape& mlp, int64_t j);

}  // namespace surrogate::impl::flare
