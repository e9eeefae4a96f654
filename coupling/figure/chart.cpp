// SPDX-License-Identifier: Apache-2.0
#include "coupling/figure/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "coupling/figure/canvas.hpp"
#include "coupling/figure/ticks.hpp"

namespace surrogate::vtk {

namespace {

constexpr int width = 960, height = 600;
constexpr int left = 92, right = 24, below = 64, above = 48;  // margins around the axes
constexpr int text_size = 15, title_size = 18;
constexpr Rgb gray = {0.45, 0.45, 0.45}, pale = {0.9, 0.9, 0.9};
/// Distinguishable for people with red-green color blindness (Okabe and Ito's palette).
constexpr std::array<Rgb, 6> colors = {{{0.00, 0.45, 0.70},
                                        {0.84, 0.37, 0.00},
                                        {0.00, 0.62, 0.45},
                                        {0.80, 0.47, 0.65},
                                        {0.34, 0.71, 0.91},
                                        {0.90, 0.62, 0.00}}};

/// Numbers along an axis and their positions, 0 .. 1.
struct Scale {
    double low, high;
    bool is_log;
    double at(double value) const {
        if (is_log) return std::log(value / low) / std::log(high / low);
        return (value - low) / (high - low);
    }
};

bool is_shown(double x, double y) {
    return std::isfinite(x) && std::isfinite(y) && y > 0;
}

Scale scale_of(const Chart& chart, bool is_y) {
    double low = std::numeric_limits<double>::infinity(), high = 0;
    for (const Curve& curve : chart.curves)
        for (size_t i = 0; i < curve.x.size(); ++i) {
            if (!is_shown(curve.x[i], curve.y[i])) continue;
            low = std::min(low, is_y ? curve.y[i] : curve.x[i]);
            high = std::max(high, is_y ? curve.y[i] : curve.x[i]);
        }
    if (!is_y) return {0, std::isfinite(low) ? std::max(high, 1.0) : 1.0, false};
    if (!std::isfinite(low)) return {0.1, 1, true};
    const double room = std::pow(std::max(high / low, 1.5), 0.05);
    return {low / room, high * room, true};
}

double x_pixel(const Scale& scale, double value) {
    return left + scale.at(value) * (width - left - right);
}
double y_pixel(const Scale& scale, double value) {
    return below + scale.at(value) * (height - below - above);
}

void draw_axes(Canvas& canvas, const Chart& chart, const Scale& x, const Scale& y) {
    constexpr int most_ticks = 8;
    constexpr double least_step = 1;  // epochs are whole
    for (const double tick : linear_ticks(x.low, x.high, most_ticks, least_step)) {
        const double at = x_pixel(x, tick);
        canvas.line(at, below, at, height - above, 1, pale);
        canvas.line(at, below - 5, at, below, 1, black);
        canvas.text(at, below - 16, tick_text(tick), text_size, black, Canvas::Align::center);
    }
    for (const double tick : log_ticks(y.low, y.high)) {
        const double at = y_pixel(y, tick);
        canvas.line(left, at, width - right, at, 1, pale);
        canvas.line(left - 5, at, left, at, 1, black);
        canvas.text(left - 9, at, tick_text(tick), text_size, black, Canvas::Align::right);
    }
    canvas.line(left, below, width - right, below, 1.5, black);
    canvas.line(left, below, left, height - above, 1.5, black);
    canvas.text((left + width - right) / 2.0, 20, chart.x_name, text_size, black,
                Canvas::Align::center);
    canvas.text(20, (below + height - above) / 2.0, chart.y_name, text_size, black,
                Canvas::Align::center, true);
    canvas.text(left, height - above / 2.0, chart.title, title_size, black, Canvas::Align::left);
}

void draw_curve(Canvas& canvas, const Curve& curve, const Rgb& color, const Scale& x,
                const Scale& y) {
    const bool has_marks = curve.x.size() <= 40;
    for (size_t i = 0; i < curve.x.size(); ++i) {
        if (!is_shown(curve.x[i], curve.y[i])) continue;
        const double px = x_pixel(x, curve.x[i]), py = y_pixel(y, curve.y[i]);
        if (has_marks) canvas.disk(px, py, 6, color);
        if (i == 0 || !is_shown(curve.x[i - 1], curve.y[i - 1])) continue;
        canvas.line(x_pixel(x, curve.x[i - 1]), y_pixel(y, curve.y[i - 1]), px, py, 2.2, color);
    }
}

void draw_legend(Canvas& canvas, const Chart& chart) {
    constexpr int row = 24, mark = 34;
    int widest = 0;
    for (const Curve& curve : chart.curves)
        widest = std::max(widest, canvas.text_width(curve.name, text_size));
    const int n = static_cast<int>(chart.curves.size());
    const int box_width = mark + widest + 22, box_height = row * n + 10;
    const int x = width - right - box_width - 8, y = height - above - box_height - 8;
    canvas.fill(x, y, box_width, box_height, gray);
    canvas.fill(x + 1, y + 1, box_width - 2, box_height - 2, {1, 1, 1});
    for (int i = 0; i < n; ++i) {
        const auto curve = static_cast<size_t>(i);
        const int at = y + box_height - 5 - row / 2 - row * i;
        canvas.line(x + 8, at, x + mark, at, 3, colors[curve % colors.size()]);
        canvas.text(x + mark + 8, at, chart.curves[curve].name, text_size, black,
                    Canvas::Align::left);
    }
}

}  // namespace

std::vector<unsigned char> draw_chart(const Chart& chart) {
    Canvas canvas(width, height);
    const Scale x = scale_of(chart, false), y = scale_of(chart, true);
    draw_axes(canvas, chart, x, y);
    for (size_t i = 0; i < chart.curves.size(); ++i)
        draw_curve(canvas, chart.curves[i], colors[i % colors.size()], x, y);
    if (!chart.curves.empty()) draw_legend(canvas, chart);
    return canvas.png();
}

}  // namespace surrogate::vtk
