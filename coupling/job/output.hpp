// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace surrogate::tool {

// The only doors of the program to a terminal. Names and texts come from model and mesh files that
// anybody may have written: what a terminal would take for a command, and what turns the order of
// the letters around, is printed as an escape.

/// Valid UTF-8 and nothing that controls a terminal or hides text: bytes that are not UTF-8 and
/// control characters as \x1b, C1 controls, bidirectional overrides and other format characters as
/// \u{202e}. Newlines and tabs stay.
std::string visible(std::string_view text);

/// The same on one line, newlines and tabs as \x0a and \x09, at most `longest` bytes: longer texts
/// are cut between characters and end with "..". For every name and text of a file that becomes
/// part of a line.
std::string one_line(std::string_view text, size_t longest = 200);

/// Returns true for valid UTF-8, which JSON needs.
bool is_utf8(std::string_view text);

/// Call first in main: keeps standard streams that were closed from becoming somebody's files.
void open_output();

/// To stdout, through visible().
void print(std::string_view text);

/// To stderr, through visible(), as one message: lines after the first are indented, so that none
/// of them looks like a message of its own.
void print_error(std::string_view message);

/// To stderr on a terminal: the current line anew, `bar` as it is (it may hold colours and must not
/// come from a file), `text` through one_line().
void redraw(std::string_view bar, std::string_view text);

/// Writes out what was printed. "", or why some of it is lost: "No space left on device".
std::string finish_output();

}  // namespace surrogate::tool
