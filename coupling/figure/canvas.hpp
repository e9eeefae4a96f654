// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coupling/figure/color_map.hpp"

namespace surrogate::vtk {

/// Color of texts, ticks and axes.
constexpr Rgb black = {0.13, 0.13, 0.13};

/// A white image in memory to draw on, without display or window. Pixel coordinates start at the
/// lower left corner.
class Canvas {
public:
    Canvas(int width, int height);
    int width() const { return width_; }
    int height() const { return height_; }

    /// Alignment of a text relative to its anchor.
    enum class Align { left, center, right };

    void fill(int x, int y, int width, int height, const Rgb& color);

    /// Draws an antialiased line; `thickness` in pixels.
    void line(double x0, double y0, double x1, double y1, double thickness, const Rgb& color);
    void disk(double x, double y, double diameter, const Rgb& color);

    /// Draws one line of text with its middle at height y; `is_upright`: rotated by 90 degrees,
    /// with its middle at x.
    void text(double x, double y, const std::string& text, int size, const Rgb& color, Align align,
              bool is_upright = false);
    /// Returns the width of a text in pixels.
    int text_width(const std::string& text, int size) const;

    /// Returns the bytes of a PNG file.
    std::vector<unsigned char> png() const;

private:
    void blend(int x, int y, const Rgb& color, double share);

    int width_, height_;
    std::vector<unsigned char> pixels_;  // three each, rows from below
};

}  // namespace surrogate::vtk
