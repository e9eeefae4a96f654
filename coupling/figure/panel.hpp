// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>

#include <string>

#include "coupling/figure/canvas.hpp"

namespace surrogate::vtk {

/// A field on a grid with its colors: a checked panel of a figure. The caller owns the values.
class Panel {
public:
    /// Checks the panel, whose values are borrowed. `who` is the name in messages. Throws
    /// INVALID_ARGUMENT, SHAPE, NOT_SUPPORTED.
    Panel(const surrogate_png_panel& panel, const std::string& who);

    /// Returns the width in pixels: a whole number per value, so that the height is at least 400 if
    /// that fits.
    int width() const { return n_x_ * scale_; }
    int height() const { return n_y_ * scale_; }

    /// Ends of the color map. They are never equal, so that a constant field has a color, too.
    double low() const { return low_; }
    double high() const { return high_; }

    /// Draws the field with its lower left corner at (x, y); `nan` is one of SURROGATE_NAN_...
    void draw(Canvas& canvas, int x, int y, int32_t nan) const;

    /// Draws the colors from low() to high(), left to right.
    void draw_bar(Canvas& canvas, int x, int y, int width, int height) const;

private:
    double value(int i, int j) const;
    bool is_there(int i, int j) const;
    void set_range(double low, double high);
    Rgb color(double value, int32_t nan) const;
    void outline(Canvas& canvas, int x, int y) const;

    surrogate_array values_;
    int32_t color_map_;
    int n_x_, n_y_, scale_;
    double low_, high_;
};

}  // namespace surrogate::vtk
