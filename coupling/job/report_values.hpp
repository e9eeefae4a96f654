// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

/// Values of reports in CSV and JSON.
namespace surrogate::tool {

/// Returns a cell for spreadsheets; empty for NaN and infinity.
inline std::string csv_number(double value, int digits = 9) {
    if (!std::isfinite(value)) return "";
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.*g", digits, value);
    return text.data();
}

/// Returns a text as a cell, in quotes if it has commas, quotes or line feeds.
inline std::string csv_text(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

/// Returns null for NaN and infinity, which JSON does not have.
inline nlohmann::json json_number(double value) {
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

}  // namespace surrogate::tool
