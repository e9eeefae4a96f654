// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/text_hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>

namespace surrogate::tool {

std::string hex(uint64_t hash) {
    char text[20];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

std::string text_hash(std::string_view bytes) {
    return hex(XXH3_64bits(bytes.data(), bytes.size()));
}

}  // namespace surrogate::tool
