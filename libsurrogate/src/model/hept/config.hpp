// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"

namespace surrogate::impl::hept {

/// Content of the last block of a cloud whose size is not a multiple of block_size.
///   zero       keys of zeros (the authors' research code; one cloud)
///   duplicate  copies of points of the cloud (the authors' example)
///   masked     nothing: the block is short (this library's choice; the default of new models)
enum class Padding { zero, duplicate, masked };

/// Validated hyperparameters under their official names in the card. Source: the specification of
/// the family, sections 0 and 2.
struct Config {
    static constexpr const char* family = "HEPT";  ///< in messages

    int64_t in_dim = 15;          ///< F, raw features per point
    int64_t coords_dim = 6;       ///< D; coordinates 0 and 1 are divided into regions
    int64_t h_dim = 24;           ///< d, width of the stream and of each head
    int64_t num_heads = 8;        ///< H
    int64_t n_layers = 4;         ///< L
    int64_t n_hashes = 3;         ///< C, tables
    int64_t block_size = 0;       ///< B; required in the card, it does not follow from the weights
    int64_t num_regions = 0;      ///< G; 0: not set in the card
    int64_t num_w_per_dist = 10;  ///< K
    int64_t num_classes = 0;      ///< 0: the embedding itself is the output
    double dropout = 0.1;         ///< rate in training, of every residual branch
    bool is_pileup = false;       ///< the last feature is a class, the output a probability
    bool has_beta = false;        ///< the file has beta of the research code (zero padding); unused
    Padding padding = Padding::masked;
    bool is_padding_open = false;  ///< true if the card does not set it: see settle_padding()

    static constexpr int64_t n_class_of_particle = 7, class_width = 10;  ///< pids_enc
    static constexpr int64_t mlp_width = 256;

    int64_t n_feature() const { return is_pileup ? in_dim - 1 + class_width : in_dim; }  ///< F'
    int64_t n_embedding() const { return h_dim / 2; }  ///< m, width of the output MLP
    int64_t n_out() const { return num_classes > 0 ? num_classes : n_embedding(); }
    int64_t n_query() const { return h_dim + coords_dim; }  ///< E
    int64_t n_row() const { return n_hashes * num_heads; }  ///< rows of tokens: (table, head)
    int64_t n_tensor() const;                               ///< tensors in layout()
};

/// Parses the card's `network` object. Local. Throws bad_file, with near misses for unknown keys,
/// and not_supported for options of the authors' code that this family does not implement.
Config parse_config(const nlohmann::json& network);

/// Returns the specifications of all weights in the order of the state_dict.
std::vector<TensorSpec> layout(const Config& config);

/// Sets the padding if the card does not set it: zero if the file has beta, otherwise duplicate.
/// Throws bad_file if only some layers have beta.
void settle_padding(Config& config, const MasterWeights& weights);

/// Returns the prefix of a layer's weights: "attns.3."
std::string layer_name(int64_t layer);

}  // namespace surrogate::impl::hept
