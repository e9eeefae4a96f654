// SPDX-License-Identifier: Apache-2.0
#include "coupling/figure/panel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

constexpr int64_t least_height = 400;   // of a panel
constexpr int64_t most_pixels = 16384;  // per side; many viewers fail beyond
constexpr int most_around = 3;          // pixels of a line around the grid, up to the next panel
constexpr Rgb white = {1, 1, 1};

void check(const surrogate_png_panel& panel, const std::string& who) {
    const surrogate_array& values = panel.values;
    require(values.data, (who + ".values.data").c_str());
    if (values.space != SURROGATE_HOST)
        throw Error(SURROGATE_NOT_SUPPORTED, who + ".values is not in host memory; copy it first");
    if (values.dtype != SURROGATE_FLOAT32 && values.dtype != SURROGATE_FLOAT64)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    who + ".values.dtype is " + std::to_string(values.dtype) +
                        ", expected SURROGATE_FLOAT32 or SURROGATE_FLOAT64");
    for (const int64_t n : values.shape)
        if (n < 1 || n > most_pixels)
            throw Error(SURROGATE_SHAPE, who + ".values has " + std::to_string(values.shape[0]) +
                                             " x " + std::to_string(values.shape[1]) +
                                             " elements, expected 1 to " +
                                             std::to_string(most_pixels) + " a side");
    if (!std::isfinite(panel.min) || !std::isfinite(panel.max) || panel.min > panel.max)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    who + ": min and max are " + std::to_string(panel.min) + " and " +
                        std::to_string(panel.max) +
                        ", expected finite numbers, the first not above the second; both 0 take "
                        "the range of the data");
    color_at(panel.color_map, 0);
}

}  // namespace

Panel::Panel(const surrogate_png_panel& panel, const std::string& who)
    : values_(panel.values), color_map_(panel.color_map) {
    check(panel, who);
    n_x_ = static_cast<int>(values_.shape[0]);
    n_y_ = static_cast<int>(values_.shape[1]);
    scale_ = static_cast<int>(std::clamp<int64_t>((least_height + n_y_ - 1) / n_y_, 1,
                                                  std::max<int64_t>(1, most_pixels / n_x_)));
    set_range(panel.min, panel.max);
}

double Panel::value(int i, int j) const {
    const int64_t at = i * values_.stride[0] + j * values_.stride[1];
    return values_.dtype == SURROGATE_FLOAT32 ? static_cast<const float*>(values_.data)[at]
                                              : static_cast<const double*>(values_.data)[at];
}

bool Panel::is_there(int i, int j) const {
    return i >= 0 && j >= 0 && i < n_x_ && j < n_y_ && !std::isnan(value(i, j));
}

void Panel::set_range(double low, double high) {
    if (low == 0 && high == 0) {
        low = std::numeric_limits<double>::infinity();
        high = -low;
        for (int j = 0; j < n_y_; ++j)
            for (int i = 0; i < n_x_; ++i) {
                const double found = value(i, j);
                if (!std::isfinite(found)) continue;
                low = std::min(low, found);
                high = std::max(high, found);
            }
        if (low > high) low = high = 0;  // no finite value
    }
    if (low == high) high = low + std::max(1.0, std::abs(low));
    low_ = low;
    high_ = high;
}

Rgb Panel::color(double value, int32_t nan) const {
    if (std::isnan(value) && nan != SURROGATE_NAN_GRAY) return white;
    if (!std::isfinite(value)) return no_value;
    return color_at(color_map_, (value - low_) / (high_ - low_));
}

void Panel::draw(Canvas& canvas, int x, int y, int32_t nan) const {
    for (int j = 0; j < n_y_; ++j)
        for (int i = 0; i < n_x_; ++i)
            canvas.fill(x + i * scale_, y + j * scale_, scale_, scale_, color(value(i, j), nan));
    if (nan == SURROGATE_NAN_OUTLINED) outline(canvas, x, y);
}

/// Fills points without a value in gray if they have a neighbor with a value. Outside of the grid
/// the gray is a thin line.
void Panel::outline(Canvas& canvas, int x, int y) const {
    const int thin = std::min(scale_, most_around);
    for (int j = -1; j <= n_y_; ++j)
        for (int i = -1; i <= n_x_; ++i) {
            if (is_there(i, j)) continue;
            if (!is_there(i - 1, j) && !is_there(i + 1, j) && !is_there(i, j - 1) &&
                !is_there(i, j + 1))
                continue;
            canvas.fill(x + (i < 0 ? -thin : i * scale_), y + (j < 0 ? -thin : j * scale_),
                        i < 0 || i == n_x_ ? thin : scale_, j < 0 || j == n_y_ ? thin : scale_,
                        no_value);
        }
}

void Panel::draw_bar(Canvas& canvas, int x, int y, int width, int height) const {
    for (int i = 0; i < width; ++i)
        canvas.fill(x + i, y, 1, height, color_at(color_map_, i / std::max(1.0, width - 1.0)));
}

}  // namespace surrogate::vtk
