// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <toml++/toml.h>
#include <vector>

#include "coupling/training/toml_table.hpp"

/// Keys and values of version 0.1 in a configuration of `surrogate train`, which version 0.2
/// accepts.
namespace surrogate::tool {

/// Gives old keys and values their present names. Adds a line to `notes` for each, and an error for
/// a key that stands beside its new name.
void rename_old_keys(toml::table* config, ConfigErrors* errors, std::vector<std::string>* notes);

/// Gives the keys and values of a fingerprint the names of version 0.1, under which checkpoints
/// keep them.
void restore_old_keys(std::map<std::string, std::string>* fingerprint);

/// Returns the present name of a key of a fingerprint.
std::string present_key(const std::string& stored);

}  // namespace surrogate::tool
