// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/core/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace surrogate::impl {
namespace {

// Names may come from an untrusted file, so the search for near misses is limited to about 10 ms.
constexpr size_t longest_name = 200;
constexpr int64_t cell_budget = 4'000'000;

/// Edits a person may have slipped in a name of this length.
size_t tolerance(size_t length) {
    return std::max<size_t>(1, std::min<size_t>(length / 3, 8));
}

/// Returns the Levenshtein distance, computed by rows. Two swapped neighbors ("presusre") count
/// one, as they are a single typing error.
size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
    std::iota(above.begin(), above.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min(
                {above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, above);
        std::swap(above, row);
    }
    return above.back();
}

}  // namespace

std::vector<std::string> near_misses(std::string_view name, std::span<const std::string> known) {
    constexpr size_t n_shown = 3;
    if (name.size() > longest_name) return {};
    const size_t limit = tolerance(name.size());
    std::vector<std::pair<size_t, std::string>> near;
    int64_t budget = cell_budget;
    for (const std::string& candidate : known) {
        const size_t difference =
            std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
        if (difference > limit) continue;
        budget -= static_cast<int64_t>((name.size() + 1) * (candidate.size() + 1));
        if (budget < 0) break;
        const size_t distance = edit_distance(name, candidate);
        if (distance > limit) continue;
        near.emplace_back(distance, candidate);
        std::sort(near.begin(), near.end());
        if (near.size() > n_shown) near.pop_back();
    }
    std::vector<std::string> names;
    for (auto& [distance, text] : near) names.push_back(std::move(text));
    return names;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
    std::string text;
    for (const std::string& candidate : near_misses(name, known))
        text += (text.empty() ? "; did you mean '" : " or '") + printable(candidate) + "'";
    return text.empty() ? text : text + "?";
}

std::string no_such_text(std::string_view kind, std::string_view name,
                         std::span<const std::string> known) {
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
    return std::string(kind) + " '" + printable(name) + "' does not exist (" + std::string(kind) +
           "s are: " + list + ")" + did_you_mean(name, known);
}

std::string shape_text(std::span<const int64_t> shape) {
    std::string text = "(";
    for (const int64_t extent : shape)
        text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    return text + ")";
}

std::string number_text(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.6g", value);
    return text;
}

std::string range_text(double min, double max) {
    if (std::isinf(min) && !std::isinf(max)) return "below " + number_text(max);
    if (std::isinf(max) && !std::isinf(min)) return "above " + number_text(min);
    return number_text(min) + " .. " + number_text(max);
}

std::string printable(std::string_view text, size_t max_length) {
    constexpr char digits[] = "0123456789abcdef";
    std::string shown;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_plain = byte >= 0x20 && byte < 0x7f;
        const size_t room = is_plain ? 1 : 4;
        if (shown.size() + room > max_length) {
            shown.resize(std::min(shown.size(), max_length - std::min<size_t>(max_length, 2)));
            return shown + std::string("..").substr(0, max_length);
        }
        if (is_plain)
            shown += c;
        else
            shown += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
    return shown;
}

}  // namespace surrogate::impl
