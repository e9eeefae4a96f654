// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace surrogate::vtk {

using Rgb = std::array<double, 3>;  ///< 0 .. 1 each

/// Colour at `t` in 0 .. 1 of SURROGATE_COLOR_SEQUENTIAL or SURROGATE_COLOR_DIVERGING;
/// INVALID_ARGUMENT for others.
Rgb color_at(int32_t color_map, double t);

/// Colour of NaN and infinity: in neither map.
constexpr Rgb no_value = {0.5, 0.5, 0.5};

}  // namespace surrogate::vtk
