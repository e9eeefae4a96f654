// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/text.hpp"

#include <algorithm>
#include <cstdio>

namespace surrogate::tool {

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

std::string bytes(double n_byte) {
    const char* const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    size_t unit = 0;
    for (; n_byte >= 1000 && unit + 1 < std::size(units); ++unit) n_byte /= 1000;
    return number(n_byte) + " " + units[unit];
}

std::string Lines::text() const {
    size_t width = 0;
    for (const auto& line : lines_) width = std::max(width, line.first.size());
    std::string all;
    for (const auto& [label, text] : lines_) {
        all += "  " + label + std::string(width - label.size() + 2, ' ');
        for (const char c : text) {
            all += c;
            if (c == '\n') all += std::string(width + 4, ' ');
        }
        all += '\n';
    }
    return all;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string all;
    for (const auto& row : rows) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i)
            line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
        all += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return all;
}

}  // namespace surrogate::tool
