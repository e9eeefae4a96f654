// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "tests/support/model_writer.hpp"

namespace surrogate::test {

/// A small network of HEPT with some keys changed: 2 layers, 3 tables, 2 heads of 4 channels,
/// blocks of 8 points, 2 coordinates, 2 features, 1 output, no padding.
nlohmann::json small_hept(const nlohmann::json& changes = nlohmann::json::object());

/// A file with all weights that the card asks for, filled by waves.
ModelWriter hept_model(const nlohmann::json& card);
/// The same of a bare network.
ModelWriter hept_network(const nlohmann::json& network);

}  // namespace surrogate::test
