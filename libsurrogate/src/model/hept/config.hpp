// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"

namespace surrogate::impl::hept {

/// Padding of the last block of a cloud whose size is not a multiple of block_size.
///   zero       keys of zeros (the authors' research code; one cloud)
///   duplicate  copies of points of the cloud (the authors' example)
///   masked     nothing: the block is short (ours; the default of new models)
enum class Padding { zero, duplicate, masked };

/// Hyperparameters, checked, by their official names in the card. Source: the specification of the
/// family, sections 0 and 2.
struct Config {
    int64_t in_dim = 15;          ///< F, of the raw features
    int64_t coords_dim = 6;       ///< D; coordinates 0 and 1 are cut into regions
    int64_t h_dim = 24;           ///< d, of the stream and of each head
    int64_t num_heads = 8;        ///< H
    int64_t n_layers = 4;         ///< L
    int64_t n_hashes = 3;         ///< C, tables
    int64_t block_size = 0;       ///< B; the weights do not tell, the card must
    int64_t num_regions = 0;      ///< G; 0: the card does not say
    int64_t num_w_per_dist = 10;  ///< K
    int64_t num_classes = 0;      ///< 0: the embedding itself is the output
    bool is_pileup = false;       ///< the last feature is a class, the output a probability
    bool has_beta = false;        ///< of the research code, which pads with zeros; unused numbers
    Padding padding = Padding::masked;
    bool is_padding_open = false;  ///< the card does not say: see settle_padding()

    static constexpr int64_t n_class_of_particle = 7, class_width = 10;  ///< pids_enc
    static constexpr int64_t mlp_width = 256;

    int64_t n_feature() const { return is_pileup ? in_dim - 1 + class_width : in_dim; }  ///< F'
    int64_t n_embedding() const { return h_dim / 2; }  ///< m, of the output MLP
    int64_t n_out() const { return num_classes > 0 ? num_classes : n_embedding(); }
    int64_t n_query() const { return h_dim + coords_dim; }  ///< E
    int64_t n_row() const { return n_hashes * num_heads; }  ///< of tables and heads: (table, head)
    int64_t n_tensor() const;                               ///< of layout
};

/// The card's `network` object; throws bad_file with near misses for unknown keys, not_supported
/// for what the authors' code has and this family has not.
Config parse_config(const nlohmann::json& network);

/// All weights in the order of the state_dict.
std::vector<TensorSpec> layout(const Config& config);

/// Returns the padding mode. If the card does not set it: zero if the file has beta, otherwise
/// duplicate. Throws bad_file if some layers have it and others have not.
void settle_padding(Config& config, const MasterWeights& weights);

/// "attns.3."
std::string layer_name(int64_t layer);

}  // namespace surrogate::impl::hept
