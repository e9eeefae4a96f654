// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coupling/figure/canvas.hpp"
#include "coupling/figure/picture_label.hpp"

namespace surrogate::vtk {

/// Pixels of the parts around a panel, by the size of letters.
struct Sizes {
    int text;  ///< of letters
    int tick() const { return text / 3; }
    int row() const { return text * 8 / 5; }  ///< a line of text
};

/// Rectangle of a panel's field on the canvas.
struct Box {
    int x, y, width, height;  ///< x, y: its lower left corner
};

/// Returns the pixels of the axes of a label to the left of the field; below_frame() returns the
/// pixels below it.
int left_of_frame(const Canvas& canvas, const PictureLabel& label, int height, Sizes sizes);
int below_frame(const PictureLabel& label, Sizes sizes);

/// Draws axes with numbers, or a scale bar of a round length, around the field in `box`.
void draw_frame(Canvas& canvas, const PictureLabel& label, const Box& box, Sizes sizes);

/// Range of a color bar; logarithms to base 10 if is_log10.
struct BarRange {
    double low, high;
    bool is_log10;
};

/// Draws the numbers under a color bar.
void draw_bar_numbers(Canvas& canvas, const BarRange& range, const Box& bar, Sizes sizes);

/// Pixels by which the first number extends beyond the left end of a bar, and the last number
/// beyond its right end.
struct Overhang {
    int left, right;
};
Overhang overhang_of_bar(const Canvas& canvas, const BarRange& range, int width, Sizes sizes);

}  // namespace surrogate::vtk
