// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/core/hidden_characters.hpp"

#include <algorithm>
#include <array>

namespace surrogate::impl {

Character first_character(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const uint32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < n) return {};
    uint32_t code = lead & (0x7fu >> n);
    for (size_t i = 1; i < n; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return {};
        code = code << 6 | (byte(i) & 0x3fu);
    }
    constexpr uint32_t shortest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < shortest[n] || code > 0x10ffff || is_surrogate) return {};
    return {code, n};
}

bool is_hidden(uint32_t code) {
    struct Range {
        uint32_t first, last;
    };
    static constexpr std::array<Range, 21> ranges{{
        {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},
        {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
        {0x8e2, 0x8e2},     {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
        {0x2060, 0x206f},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd},
        {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe007f},
    }};
    return std::any_of(ranges.begin(), ranges.end(), [code](const Range& range) {
        return code >= range.first && code <= range.last;
    });
}

size_t first_hidden(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const Character c = first_character(text.substr(at));
        if (c.n_byte == 0 || is_hidden(c.code)) return at;
        at += c.n_byte;
    }
    return std::string_view::npos;
}

void copy_visible(std::string_view from, char* to, size_t size) noexcept {
    size_t n = 0;
    while (!from.empty()) {
        const Character next = first_character(from);
        const bool is_kept = next.n_byte > 0 && (next.code == '\n' || !is_hidden(next.code));
        const size_t n_byte = is_kept ? next.n_byte : 1;
        if (n + n_byte >= size) break;
        for (size_t i = 0; i < n_byte; ++i) to[n + i] = is_kept ? from[i] : '?';
        n += n_byte;
        from.remove_prefix(std::max<size_t>(next.n_byte, 1));
    }
    to[n] = '\0';
}

}  // namespace surrogate::impl
