// SPDX-License-Identifier: Apache-2.0
#include "coupling/figure/picture_label.hpp"

#include <vtk_utf8.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

void check_choice(int32_t value, int32_t most, const std::string& what) {
    if (value < 0 || value > most)
        throw Error(SURROGATE_INVALID_ARGUMENT, what + " is " + std::to_string(value) +
                                                    ", expected 0 to " + std::to_string(most));
}

/// Returns "name [unit]", or only the part that is not empty.
std::string with_unit(const std::string& name, const std::string& unit) {
    if (unit.empty()) return name;
    return name + (name.empty() ? "[" : " [") + unit + "]";
}

Axis checked_axis(const surrogate_png_axis& axis, const std::string& who) {
    if (!std::isfinite(axis.first) || !std::isfinite(axis.last) || axis.first == axis.last)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    who + " goes from " + std::to_string(axis.first) + " to " +
                        std::to_string(axis.last) +
                        ", expected ends that are finite and different");
    const std::string unit = checked_text(axis.unit, who + ".unit");
    return {with_unit(checked_text(axis.name, who + ".name"), unit), unit, axis.first, axis.last};
}

}  // namespace

std::string checked_text(const char* text, const std::string& who) {
    if (text == nullptr) return "";
    constexpr size_t most = 200;
    const size_t n = strnlen(text, most + 1);
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; };
    if (n > most || std::any_of(text, text + n, is_control) || !utf8::is_valid(text, text + n))
        throw Error(SURROGATE_INVALID_ARGUMENT, who + " is not one line of UTF-8 of at most " +
                                                    std::to_string(most) + " bytes");
    return {text, n};
}

PictureLabel::PictureLabel(const surrogate_png_label& label, const std::string& who)
    : has_numbers(true),
      is_log10(label.is_log10 != 0),
      title(checked_text(label.title, who + ".title")),
      quantity(with_unit(checked_text(label.quantity, who + ".quantity"),
                         checked_text(label.unit, who + ".unit"))),
      frame(label.frame),
      nan(label.nan) {
    check_choice(frame, SURROGATE_FRAME_SCALE, who + ".frame");
    check_choice(nan, SURROGATE_NAN_OUTLINED, who + ".nan");
    check_choice(label.is_log10, 1, who + ".is_log10");
    if (frame != SURROGATE_FRAME_NONE) x = checked_axis(label.x, who + ".x");
    if (frame == SURROGATE_FRAME_AXES) y = checked_axis(label.y, who + ".y");
}

}  // namespace surrogate::vtk
