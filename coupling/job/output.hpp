// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace surrogate::tool {

// All functions with which the program writes to a terminal. Names and texts come from untrusted
// model and mesh files. Terminal control sequences and characters that change the order of letters
// are printed as escapes.

/// Returns valid UTF-8 without characters that control a terminal or hide text: invalid bytes and
/// control characters as \x1b, C1 controls, bidirectional overrides and other format characters as
/// \u{202e}. Newlines and tabs are kept.
std::string visible(std::string_view text);

/// Returns visible() text on one line, newlines and tabs as \x0a and \x09, with at most `longest`
/// bytes: longer texts are cut between characters and end with "..". Use it for every name and text
/// of a file that becomes part of a line.
std::string one_line(std::string_view text, size_t longest = 200);

/// Returns true for valid UTF-8, which JSON needs.
bool is_utf8(std::string_view text);

/// Opens standard streams that are closed, so that files do not get their descriptors. Must be
/// called first in main.
void open_output();

/// Prints to stdout, through visible().
void print(std::string_view text);

/// Prints one message to stderr, through visible(). Lines after the first are indented, so that
/// they do not look like messages.
void print_error(std::string_view message);

/// Redraws the current line on stderr, a terminal. `bar` is printed unchanged (it may contain
/// colors and must not come from a file), `text` through one_line().
void redraw(std::string_view bar, std::string_view text);

/// Flushes the output. Returns "", or the reason why some of it is lost: "No space left on device".
std::string finish_output();

}  // namespace surrogate::tool
