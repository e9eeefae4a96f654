// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace surrogate::vtk {

using Rgb = std::array<double, 3>;  ///< 0 .. 1 each

/// Returns the color at `t` in 0 .. 1 of one of SURROGATE_COLOR_..; throws INVALID_ARGUMENT for
/// other maps.
Rgb color_at(int32_t color_map, double t);

/// Color of NaN and infinity, which is in none of the maps.
constexpr Rgb no_value = {0.5, 0.5, 0.5};

}  // namespace surrogate::vtk
