// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace surrogate::tool {

/// A hash as cards and reports hold it: 16 lower-case hex digits.
std::string hex(uint64_t hash);

/// XXH3-64 of bytes, seed 0: the checksum of cards.
std::string text_hash(std::string_view bytes);

}  // namespace surrogate::tool
