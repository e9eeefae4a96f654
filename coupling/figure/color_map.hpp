// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace surrogate::vtk {

using Rgb = std::array<double, 3>;  ///< 0 .. 1 each

/// Colour at `t` in 0 .. 1 of one of SURROGATE_COLOR_..; INVALID_ARGUMENT for others.
Rgb color_at(int32_t color_map, double t);

/// Colour of NaN and infinity: in none of the maps.
constexpr Rgb no_value = {0.5, 0.5, 0.5};

}  // namespace surrogate::vtk
