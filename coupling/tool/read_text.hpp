// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace surrogate::tool {

/// The bytes of a file; none if it cannot be opened or read. Local.
std::optional<std::string> read_text(const std::string& path);

}  // namespace surrogate::tool
