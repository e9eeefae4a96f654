// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace surrogate::impl {

/// Up to three of `known` that a person may have meant by `name` (edit distance), best first.
std::vector<std::string> near_misses(std::string_view name, std::span<const std::string> known);

/// "; did you mean 'pressure' or 'pressures'?", or "" if nothing is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

/// "(64, 3)"
std::string shape_text(std::span<const int64_t> shape);

/// "0.25", six digits.
std::string number_text(double value);

/// "3 .. 12", "above 3", "below 12"; for a range that may be open.
std::string range_text(double min, double max);

/// Any bytes as printable text of at most max_length characters: control and non-ASCII bytes as
/// \xNN, the rest cut with "..". For names that come from a file.
std::string printable(std::string_view text, size_t max_length = 120);

/// Copies a text of UTF-8 to `to`, which holds `size` bytes, so that a terminal or a log shows it as
/// it is: control characters but the line feed (C0, DEL, C1), characters that change the direction
/// of writing, and bytes that are no UTF-8 become '?'. Cut between characters. `from` may be `to`.
/// Takes no memory.
void copy_visible(const char* from, char* to, size_t size) noexcept;

}  // namespace surrogate::impl
