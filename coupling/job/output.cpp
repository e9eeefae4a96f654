// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace surrogate::tool {

namespace {

/// A character of UTF-8 at the beginning of a text; n_byte 0: the bytes there are none.
struct Character {
    uint32_t code = 0;
    size_t n_byte = 0;
};

Character first_of(std::string_view text) {
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

/// Controls, the separators of lines and paragraphs, and the format characters of Unicode (general
/// category Cf), which are invisible and change how others are shown.
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

std::string escape(uint32_t code, bool is_byte) {
    char text[16];
    std::snprintf(text, sizeof text, is_byte ? "\\x%02x" : "\\u{%x}", code);
    return text;
}

/// The text in pieces, each a character or its escape.
template <class Take>
void for_each_piece(std::string_view text, std::string_view kept, Take&& take) {
    while (!text.empty()) {
        const Character c = first_of(text);
        const size_t n = std::max<size_t>(c.n_byte, 1);
        const std::string_view bytes = text.substr(0, n);
        const bool is_kept = n == 1 && kept.find(bytes[0]) != std::string_view::npos;
        bool goes_on = true;
        if (c.n_byte > 0 && (is_kept || !is_hidden(c.code)))
            goes_on = take(bytes);
        else
            goes_on = take(escape(c.n_byte > 0 ? c.code : static_cast<unsigned char>(text[0]),
                                  c.n_byte == 0 || c.code < 0x80));
        if (!goes_on) return;
        text.remove_prefix(n);
    }
}

bool is_stdout_closed = false;
int stdout_error = 0;  // of the first write that failed

}  // namespace

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const size_t n = first_of(text).n_byte;
        if (n == 0) return false;
        text.remove_prefix(n);
    }
    return true;
}

std::string visible(std::string_view text) {
    std::string shown;
    for_each_piece(text, "\n\t", [&](std::string_view piece) {
        shown += piece;
        return true;
    });
    return shown;
}

std::string one_line(std::string_view text, size_t longest) {
    std::string shown;
    size_t cut = 0;  // where ".." still fits behind
    bool is_cut = false;
    for_each_piece(text, "", [&](std::string_view piece) {
        is_cut = shown.size() + piece.size() > longest;
        if (is_cut) return false;
        shown += piece;
        if (shown.size() + 2 <= longest) cut = shown.size();
        return true;
    });
    return is_cut ? shown.substr(0, cut) + ".." : shown;
}

void open_output() {
    is_stdout_closed = ::fcntl(STDOUT_FILENO, F_GETFD) < 0 && errno == EBADF;
    int file = ::open("/dev/null", O_RDWR);
    while (file >= 0 && file <= STDERR_FILENO) file = ::open("/dev/null", O_RDWR);
    if (file >= 0) ::close(file);
}

void print(std::string_view text) {
    const std::string shown = visible(text);
    if (shown.empty() || stdout_error != 0) return;
    if (is_stdout_closed)
        stdout_error = EBADF;
    else if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size())
        stdout_error = errno;
}

void print_error(std::string_view message) {
    std::string shown;
    for (const char c : visible(message)) {
        shown += c;
        if (c == '\n') shown += "  ";
    }
    shown.erase(shown.find_last_not_of(" \n") + 1);
    std::fprintf(stderr, "%s\n", shown.c_str());
}

void redraw(std::string_view bar, std::string_view text) {
    std::fprintf(stderr, "\r\033[K%.*s%s", static_cast<int>(bar.size()), bar.data(),
                 one_line(text).c_str());
    std::fflush(stderr);
}

std::string finish_output() {
    if (std::fflush(stdout) != 0 && stdout_error == 0) stdout_error = errno;
    return stdout_error == 0 ? "" : std::strerror(stdout_error);
}

}  // namespace surrogate::tool
