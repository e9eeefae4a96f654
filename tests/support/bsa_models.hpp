// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/model_writer.hpp"

namespace surrogate::test {

/// Returns the network of the specification of Ball Sparse Attention, section 13, with some keys
/// changed; keys of `attention` change attention_kwargs.
nlohmann::json small_bsa(const nlohmann::json& changes = nlohmann::json::object(),
                         const nlohmann::json& attention = nlohmann::json::object());

/// A model file with this card, filled by the rule of that section.
ModelWriter bsa_model(const nlohmann::json& card);
/// The same of a bare network.
ModelWriter bsa_network(const nlohmann::json& network);

}  // namespace surrogate::test
