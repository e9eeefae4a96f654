// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>

#include <string>

namespace surrogate::vtk {

/// Returns the text, "" for NULL. Throws INVALID_ARGUMENT with `who` unless it is one line of UTF-8
/// of at most 200 bytes.
std::string checked_text(const char* text, const std::string& who);

/// An axis that is drawn.
struct Axis {
    std::string text;  ///< "x [m]"
    std::string unit;
    double first = 0, last = 0;
};

/// A label with checked texts. The default has no texts, and no numbers at the bar.
struct PictureLabel {
    PictureLabel() = default;
    /// Throws INVALID_ARGUMENT; `who` is the name in messages.
    PictureLabel(const surrogate_png_label& label, const std::string& who);

    bool has_numbers = false, is_log10 = false;
    std::string title, quantity;
    Axis x, y;
    int32_t frame = SURROGATE_FRAME_NONE, nan = SURROGATE_NAN_GRAY;
};

}  // namespace surrogate::vtk
