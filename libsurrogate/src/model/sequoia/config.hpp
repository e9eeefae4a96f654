// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "libsurrogate/src/model/family/tensor_layout.hpp"

namespace surrogate::impl::sequoia {

/// Source of the features of a leaf.
enum class Features { fourier, linear, none, tokens };
/// Order in which a layer processes the levels: upwards, downwards, up and then down, or both
/// interleaved.
enum class Schedule { bottom_up, top_down, complete, interleaved };
/// Ancestors that a node attends to.
enum class Ancestors { all, parent, none };
/// Nodes whose rows are read out; virtual nodes are the nodes above the leaves.
enum class Probe { leaves, root, virtual_nodes, all };

/// Validated hyperparameters. The card uses the names of the authors' sequence code where they
/// exist. Source: the specification of the family, section 2.
struct Config {
    static constexpr const char* family = "Sequoia";  ///< in messages

    Features features = Features::fourier;
    /// leaves in the order of global ids, otherwise in the order of median splits
    bool is_sequence = false;
    int64_t c_in = 64, dimensionality = 3, num_classes = 1;
    int64_t vocab_size = 0, max_seq_len = 0;  ///< tokens only
    int64_t dim = 128, num_head = 4, head_dim = 128, hidden_dim = 128, num_layers = 4;
    bool tied_weights = false;
    int64_t k = 16;
    Schedule schedule = Schedule::bottom_up;
    Ancestors ancestors = Ancestors::all;
    bool has_siblings = true, has_children = true;  ///< false if `drop` names them
    bool repeats_last = false;                      ///< ragged = repeat
    bool has_sinusoid = false, has_marker = false;
    double dropout = 0.1;  ///< rate in training
    Probe probe = Probe::leaves;
    bool is_mean = false;  ///< pooling MEAN

    int64_t inner_dim() const { return num_head * head_dim; }
    bool takes_positions() const {
        return features == Features::fourier || features == Features::linear || !is_sequence;
    }
    int64_t n_weight_layer() const { return tied_weights ? (num_layers > 0 ? 1 : 0) : num_layers; }
    int64_t n_tensor() const;  ///< tensors in layout()
};

/// Parses the card's `network` object. Local. Throws bad_file, with near misses for unknown keys,
/// and not_supported for options of the authors' code that this family does not implement.
Config parse_config(const nlohmann::json& network);

/// Returns the specifications of all weights in the order of the state_dict.
std::vector<TensorSpec> layout(const Config& config);

/// Returns the prefix of a layer's weights: "model.transformer_3.", or with tied weights
/// "model.transformer.".
std::string layer_name(const Config& config, int64_t layer);

}  // namespace surrogate::impl::sequoia
