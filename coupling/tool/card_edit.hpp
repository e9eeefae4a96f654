// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace surrogate::tool {

// Functions that edit a value of a card. A key is a path joined by dots: provenance.license,
// network.num_heads, inputs.mobility.unit (a field by its name, which may contain dots) or
// inputs.2.unit. Local; throw Failure with the existing keys and near misses.

/// Sets a value by "KEY=VALUE". VALUE is parsed as JSON, and used as a text if it is not JSON;
/// '"12"' is a text. Missing objects in the path are created; missing list entries are an error.
/// Returns "KEY: old -> new".
std::string set_value(nlohmann::json& card, const std::string& assignment);

/// Removes a value. Returns "KEY: old, removed".
std::string remove_value(nlohmann::json& card, const std::string& key);

}  // namespace surrogate::tool
