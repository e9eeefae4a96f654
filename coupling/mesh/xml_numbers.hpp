// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

// Strict parsers of numbers in the attributes of VTK's XML files. VTK's own parser reads "4abc" as
// 4.

namespace surrogate::vtk {

/// Parses the whole text as a number; blanks around it are allowed.
std::optional<int64_t> integer_of(std::string_view text);

/// Parses "first last first last first last" along x, y, z.
std::optional<std::array<int64_t, 6>> extent_of(std::string_view text);

/// Returns the bytes of a value of a type by its name in the files ("Float32"), 0 for unknown
/// names; the comparison is exact, because VTK returns a null pointer for inexact names. A string
/// has at least one byte, its end.
double value_bytes(std::string_view type);

}  // namespace surrogate::vtk
