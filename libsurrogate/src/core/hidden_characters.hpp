// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace surrogate::impl {

/// Offset of the first character of a UTF-8 text that a terminal obeys or a reader cannot see:
/// controls (C0, DEL, C1), separators of lines and paragraphs, format characters (among them the
/// bidirectional overrides), and bytes that are no UTF-8. npos if there is none.
size_t first_hidden(std::string_view text);

}  // namespace surrogate::impl
