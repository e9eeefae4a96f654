// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace surrogate::impl {

/// One input or output of the card. Network value = (value - mean) / std.
struct FieldCard {
    std::string name;
    std::string unit;
    bool is_coordinate = false;
    int axis = -1;  ///< of a coordinate: 0, 1, 2
    double mean = 0, std = 1;
    double min, max;  ///< of the training data; -inf, inf if the card does not say
};

/// The model card (share/doc/model-file.md): metadata key `surrogate.card` of a model file.
struct Card {
    std::string family;
    nlohmann::json network = nlohmann::json::object();  ///< hyperparameters; the family checks them
    std::vector<FieldCard> inputs, outputs;              ///< empty for a bare network
    nlohmann::json provenance = nlohmann::json::object();
    std::map<std::string, uint64_t> checksums;  ///< tensor -> xxh3-64; empty if the card has none
};

/// Throws Error(bad_file) naming the key, what was expected and what was found; unknown keys list near misses.
Card parse_card(std::string_view json);

}  // namespace surrogate::impl
