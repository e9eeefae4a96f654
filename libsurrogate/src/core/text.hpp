// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace surrogate::impl {

/// Returns up to three of `known` that a person may have meant by `name` (edit distance), best
/// first.
std::vector<std::string> near_misses(std::string_view name, std::span<const std::string> known);

/// Returns "; did you mean 'pressure' or 'pressures'?", or "" if nothing is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

/// Returns "option 'thread' does not exist (options are: threads, vector); did you mean
/// 'threads'?"; `kind` is "option".
std::string no_such_text(std::string_view kind, std::string_view name,
                         std::span<const std::string> known);

/// Returns "(64, 3)".
std::string shape_text(std::span<const int64_t> shape);

/// Returns "0.25", six digits.
std::string number_text(double value);

/// Returns "3 .. 12", "above 3", "below 12"; for a range that may be open.
std::string range_text(double min, double max);

/// Returns any bytes as printable text of at most max_length characters: control and non-ASCII
/// bytes as \xNN, the rest cut with "..". For names that come from a file.
std::string printable(std::string_view text, size_t max_length = 120);

}  // namespace surrogate::impl
