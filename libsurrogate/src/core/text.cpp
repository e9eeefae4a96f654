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

// Names may come from a hostile file: a near miss is a courtesy and must not cost more than about
// 10 ms.
constexpr size_t longest_name = 200;
constexpr int64_t cell_budget = 4'000'000;

/// Edits a person may have slipped in a name of this length.
size_t tolerance(size_t length) {
    return std::max<size_t>(1, std::min<size_t>(length / 3, 8));
}

/// Levenshtein distance by rows; neighbours swapped ("presusre") count one, as typing does them at
/// once.
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

namespace {

/// A character of UTF-8: its number and its bytes; 0 bytes if they are none, or cut off by the end.
struct Character {
    uint32_t code = 0;
    size_t n_byte = 0;
};

Character character_at(const char* text) {
    const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
    const uint32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4) return {};
    uint32_t code = lead & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return {};  // the final zero too
        code = code << 6 | (byte(i) & 0x3f);
    }
    constexpr uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool is_surrogate_half = code >= 0xd800 && code <= 0xdfff;
    if (code < smallest[n] || code > 0x10ffff || is_surrogate_half) return {};
    return {code, n};
}

bool is_visible(uint32_t code) {
    if (code == '\n') return true;
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
    const bool turns = code == 0x61c || code == 0x200e || code == 0x200f ||
                       (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    const bool breaks = code == 0x2028 || code == 0x2029;
    return !turns && !breaks;
}

}  // namespace

void copy_visible(const char* from, char* to, size_t size) noexcept {
    size_t n = 0;
    while (*from != '\0') {
        const Character next = character_at(from);
        const bool is_kept = next.n_byte > 0 && is_visible(next.code);
        const size_t n_byte = is_kept ? next.n_byte : 1;
        if (n + n_byte >= size) break;
        for (size_t i = 0; i < n_byte; ++i) to[n + i] = is_kept ? from[i] : '?';
        n += n_byte;
        from += next.n_byte > 0 ? next.n_byte : 1;
    }
    to[n] = '\0';
}

}  // namespace surrogate::impl
