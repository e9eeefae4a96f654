// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/read_text.hpp"

#include <fstream>
#include <sstream>
#include <utility>

namespace surrogate::tool {

std::optional<std::string> read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) return {};
    return std::move(text).str();
}

}  // namespace surrogate::tool
