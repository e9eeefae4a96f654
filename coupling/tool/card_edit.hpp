// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace surrogate::tool {

// One value of a card by the keys that lead to it, joined by dots: provenance.license,
// network.num_heads, inputs.mobility.unit (a field by its name, which may have dots itself) or
// inputs.2.unit. Local; throws Failure that lists what is there, with near misses.

/// "KEY=VALUE": VALUE as JSON, and as text if it is none; '"12"' is a text. Objects on the way that
/// are not there are made; list entries are not. Returns "KEY: old -> new".
std::string set_value(nlohmann::json& card, const std::string& assignment);

/// Returns "KEY: old, removed".
std::string remove_value(nlohmann::json& card, const std::string& key);

}  // namespace surrogate::tool
