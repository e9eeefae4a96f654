// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/read_text.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace surrogate::tool {

std::optional<std::string> read_text(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return {};  // opens, and reads as empty
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) return {};
    return std::move(text).str();
}

std::string why_unreadable(const std::string& path) {
    std::error_code error;
    const auto type = std::filesystem::status(path, error).type();
    if (type == std::filesystem::file_type::not_found) return "there is no such file";
    if (type == std::filesystem::file_type::directory) return "it is a folder";
    return "the system does not let it be read";
}

}  // namespace surrogate::tool
