// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace surrogate::tool {

/// Returns a hash in the format of cards and reports: 16 lower-case hex digits.
std::string hex(uint64_t hash);

/// Returns XXH3-64 of bytes, seed 0: the checksum of cards.
std::string text_hash(std::string_view bytes);

}  // namespace surrogate::tool
