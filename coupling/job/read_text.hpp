// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace surrogate::tool {

/// Returns the bytes of a regular file; nullopt if it cannot be opened or read, has more than
/// `most` bytes, or is a folder, pipe, socket or device. Does not block. Local.
std::optional<std::string> read_text(const std::string& path,
                                     uint64_t most = std::numeric_limits<int64_t>::max());

/// Returns the reason why the text is missing: "there is no such file", "it is a pipe, expected a
/// regular file", that it is too large, or that it is not readable.
std::string why_unreadable(const std::string& path,
                           uint64_t most = std::numeric_limits<int64_t>::max());

}  // namespace surrogate::tool
