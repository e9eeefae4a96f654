// SPDX-License-Identifier: Apache-2.0
#include "coupling/figure/color_map.hpp"

#include <algorithm>
#include <string>

#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

// Own control points, equally spaced in t, with lightness (CIE L*) increasing in nearly equal
// steps: 8, 24, 40, 55, 71, 85, 96. Hue runs from blue over green to yellow, so that the map is
// also readable in gray and with the common color deficiencies.
constexpr std::array<Rgb, 7> sequential = {{{0.075, 0.055, 0.220},
                                            {0.110, 0.200, 0.450},
                                            {0.075, 0.390, 0.520},
                                            {0.130, 0.560, 0.490},
                                            {0.410, 0.730, 0.420},
                                            {0.790, 0.850, 0.420},
                                            {0.990, 0.960, 0.720}}};

// Lightness increases to the white middle and decreases again, symmetrically.
constexpr std::array<Rgb, 7> diverging = {{{0.090, 0.190, 0.480},
                                           {0.230, 0.440, 0.700},
                                           {0.590, 0.750, 0.880},
                                           {0.965, 0.965, 0.960},
                                           {0.960, 0.680, 0.540},
                                           {0.790, 0.340, 0.270},
                                           {0.450, 0.070, 0.130}}};

// Lightness decreases from 73 to 18 in nearly equal steps, so that the whole map is visible on
// white. Hue runs from orange over red to violet.
constexpr std::array<Rgb, 5> on_white = {{{0.960, 0.640, 0.200},
                                          {0.900, 0.430, 0.230},
                                          {0.760, 0.230, 0.330},
                                          {0.520, 0.120, 0.440},
                                          {0.250, 0.060, 0.420}}};

template <size_t N>
Rgb interpolate(const std::array<Rgb, N>& points, double t) {
    const double at = std::clamp(t, 0.0, 1.0) * (N - 1);
    const size_t left = std::min(static_cast<size_t>(at), N - 2);
    const double weight = at - static_cast<double>(left);
    Rgb color;
    for (size_t c = 0; c < 3; ++c)
        color[c] = (1 - weight) * points[left][c] + weight * points[left + 1][c];
    return color;
}

}  // namespace

Rgb color_at(int32_t color_map, double t) {
    if (color_map == SURROGATE_COLOR_SEQUENTIAL) return interpolate(sequential, t);
    if (color_map == SURROGATE_COLOR_DIVERGING) return interpolate(diverging, t);
    if (color_map == SURROGATE_COLOR_ON_WHITE) return interpolate(on_white, t);
    throw Error(SURROGATE_INVALID_ARGUMENT, "color map " + std::to_string(color_map) +
                                                " does not exist; see SURROGATE_COLOR_..");
}

}  // namespace surrogate::vtk
