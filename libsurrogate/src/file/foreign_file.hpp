// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace surrogate::impl {

/// Bytes at the beginning of a file that foreign_file() wants to see; fewer if the file is shorter.
constexpr int64_t foreign_file_bytes = 128;

/// Returns the likely format of a file that is not a safetensors file, and the remedy; "" if
/// the format is not recognized. `begin`: its first bytes, which are untrusted. The result is used
/// only as advice in the text of an error.
std::string foreign_file(std::string_view begin);

}  // namespace surrogate::impl
