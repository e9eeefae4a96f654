// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <system_error>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

namespace {

/// Returns the number of single-character edits between two words, ignoring case.
size_t edits_between(const std::string& a, const std::string& b) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b.size(); ++j) {
            const size_t replaced = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

}  // namespace

std::string near_word(const std::string& word, const std::vector<std::string>& known) {
    constexpr size_t longest =
        200;  // words come from files: the work is the product of the lengths
    if (word.size() > longest) return "";
    std::string best;
    size_t fewest = word.size() / 3 + 2;  // more edits mean another word
    for (const std::string& candidate : known) {
        if (candidate.size() > longest) continue;
        if (const size_t edits = edits_between(word, candidate); edits < fewest) {
            fewest = edits;
            best = candidate;
        }
    }
    return best;
}

std::string number(double value) {
    if (std::isnan(value)) return "nan";  // without its sign
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

std::string grouped(int64_t n) {
    std::string text = std::to_string(n);
    for (auto i = static_cast<ptrdiff_t>(text.size()) - 3; i > 0; i -= 3)
        text.insert(static_cast<size_t>(i), ",");
    return text;
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

std::pair<std::string, std::string> parse_map(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
        fail("--map is '" + text + "', expected FIELD=ARRAY");
    return {text.substr(0, equals), text.substr(equals + 1)};
}

std::optional<double> finite_number(std::string_view text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || !std::isfinite(value)) return {};
    return value;
}

std::pair<std::string, double> parse_number(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals != std::string::npos && equals > 0) {
        if (const auto value = finite_number(std::string_view(text).substr(equals + 1)))
            return {text.substr(0, equals), *value};
    }
    fail("--set is '" + text + "', expected INPUT=NUMBER");
}

}  // namespace surrogate::tool
