// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libsurrogate/src/file/json.hpp"
#include "libsurrogate/src/file/pooled.hpp"

namespace surrogate::impl {

/// One input or output of the card. Network value = (value - mean) / std.
struct FieldCard {
    std::string name;
    std::string unit;
    bool is_coordinate = false;
    int axis = -1;          ///< of a coordinate: 0 .. 7
    bool is_class = false;  ///< output: the logit of a class
    double mean = 0, std = 1;
    double min, max;        ///< of the training data; -inf, inf if the card does not say
    bool is_cloud = false;  ///< input: one number per cloud, which all its points read
};

/// The model card (share/doc/reference/model-file.md): metadata key `surrogate.card` of a model
/// file. An empty one takes no memory: ranks make it before they agree.
struct Card {
    std::string family;
    JsonTree network;                        ///< hyperparameters; the family checks them
    std::vector<FieldCard> inputs, outputs;  ///< empty for a bare network
    PooledCard pooled;                       ///< empty if the card has none
    JsonTree provenance;
    /// Numerical conventions of the card in addition to the network's hyperparameters: the values
    /// of the keys `conventions`, `theta_cutoff_rule` and `basis_norm_mode` if present. A family
    /// rejects unknown conventions.
    JsonTree conventions;
    std::map<std::string, uint64_t> checksums;  ///< tensor -> xxh3-64; empty if the card has none
};

/// Throws Error(bad_file) naming the key, what was expected and what was found; unknown keys list
/// near misses.
Card parse_card(std::string_view json);

/// Reads a number of 16 lower-case hex digits; `where` names it in the error.
uint64_t parse_checksum(std::string_view digits, const std::string& where);

}  // namespace surrogate::impl
