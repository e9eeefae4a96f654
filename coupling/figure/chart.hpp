// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace surrogate::vtk {

/// One line of a chart.
struct Curve {
    std::string name;  ///< in the legend
    std::vector<double> x, y;
};

/// Curves over a linear axis x, y on a logarithmic axis. Values that are not finite or not above 0
/// are gaps.
struct Chart {
    std::string title, x_name, y_name;
    std::vector<Curve> curves;
};

/// Returns the bytes of a PNG of 960 x 600 pixels: curves, axes with ticks and numbers, a grid, a
/// legend. Needs no display.
std::vector<unsigned char> draw_chart(const Chart& chart);

}  // namespace surrogate::vtk
