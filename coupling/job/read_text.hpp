// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace surrogate::tool {

/// Returns the bytes of a regular file; nothing if it cannot be opened or read, has more than
/// `most` bytes, or is a folder, pipe, socket or device, none of which is waited for. Local.
std::optional<std::string> read_text(const std::string& path,
                                     uint64_t most = std::numeric_limits<int64_t>::max());

/// Returns why there was none: "there is no such file", "it is a pipe, expected a regular file",
/// that it is too large or that the system does not let it be read.
std::string why_unreadable(const std::string& path,
                           uint64_t most = std::numeric_limits<int64_t>::max());

}  // namespace surrogate::tool
