// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace surrogate::impl {

/// A character of UTF-8.
struct Character {
    uint32_t code = 0;
    size_t n_byte = 0;  ///< 0: the bytes are not UTF-8
};

/// Returns the first character of a text that is not empty.
Character first_character(std::string_view text);

/// Returns true for controls, separators of lines and paragraphs, and the format characters of
/// Unicode (general category Cf), which are invisible and change how others are shown.
bool is_hidden(uint32_t code);

/// Returns the offset of the first character of a UTF-8 text that a terminal obeys or a reader
/// cannot see: controls (C0, DEL, C1), separators of lines and paragraphs, format characters (among
/// them the bidirectional overrides), and bytes that are not UTF-8. npos if there is none.
size_t first_hidden(std::string_view text);

/// Copies a text of UTF-8 to `to`, which holds `size` bytes, so that a terminal or a log shows it
/// as it is: what first_hidden() would find, but the line feed, becomes '?'. Cut between
/// characters. `from` may be `to`. Takes no memory.
void copy_visible(std::string_view from, char* to, size_t size) noexcept;

}  // namespace surrogate::impl
