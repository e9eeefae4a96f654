// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

// Numbers in the attributes of VTK's XML files, read to the letter: VTK's own parser takes "4abc"
// for 4.

namespace surrogate::vtk {

/// The whole text as a number, blanks around it allowed.
std::optional<int64_t> integer_of(std::string_view text);

/// "first last first last first last" along x, y, z.
std::optional<std::array<int64_t, 6>> extent_of(std::string_view text);

/// Bytes of a value of a type by its name in the files ("Float32"), 0 if they have no such type,
/// not by a letter: VTK makes a null pointer of that. A string has one at least, its end.
double value_bytes(std::string_view type);

}  // namespace surrogate::vtk
