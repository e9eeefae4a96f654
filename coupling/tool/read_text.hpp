// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace surrogate::tool {

/// The bytes of a file; none if it cannot be opened or read, or is a folder. Local.
std::optional<std::string> read_text(const std::string& path);

/// Why there was none: "there is no such file", "it is a folder", or that the system does not let it be read.
std::string why_unreadable(const std::string& path);

}  // namespace surrogate::tool
