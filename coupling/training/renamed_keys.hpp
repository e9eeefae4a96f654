// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <map>
#include <string>
#include <vector>

#include "coupling/training/toml_table.hpp"

/// Keys and values of version 0.1 in a configuration of `surrogate train`, which version 0.2
/// accepts.
namespace surrogate::tool {

/// Replaces old keys and values by the present names. Adds a line to `notes` for each, and an error
/// if a key is given in both spellings.
void rename_old_keys(toml::table* config, ConfigErrors* errors, std::vector<std::string>* notes);

/// Replaces keys and values of a fingerprint by the names of version 0.1, which checkpoints use.
void restore_old_keys(std::map<std::string, std::string>* fingerprint);

/// Returns the present name of a key of a fingerprint.
std::string present_key(const std::string& stored);

}  // namespace surrogate::tool
