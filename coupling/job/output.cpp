// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "libsurrogate/src/core/hidden_characters.hpp"

namespace surrogate::tool {

namespace {

using impl::Character;
using impl::first_character;
using impl::is_hidden;

std::string escape(uint32_t code, bool is_byte) {
    char text[16];
    std::snprintf(text, sizeof text, is_byte ? "\\x%02x" : "\\u{%x}", code);
    return text;
}

/// Splits the text into pieces, each a character or its escape.
template <class Take>
void for_each_piece(std::string_view text, std::string_view kept, Take&& take) {
    while (!text.empty()) {
        const Character c = first_character(text);
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
        const size_t n = first_character(text).n_byte;
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
    size_t cut = 0;  // position at which ".." still fits
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
