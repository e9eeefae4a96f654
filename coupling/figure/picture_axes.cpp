// SPDX-License-Identifier: Apache-2.0
#include "coupling/figure/picture_axes.hpp"

#include <algorithm>
#include <cmath>

#include "coupling/figure/ticks.hpp"

namespace surrogate::vtk {

namespace {

using Align = Canvas::Align;

std::vector<double> upright_ticks(const Axis& axis, int height, Sizes sizes) {
    return linear_ticks(std::min(axis.first, axis.last), std::max(axis.first, axis.last),
                        std::max(2, height / (3 * sizes.text)));
}

/// Returns as many numbers as fit side by side in `pixels`.
std::vector<double> fitting_ticks(const Canvas& canvas, double low, double high, int pixels,
                                  Sizes sizes) {
    std::vector<double> ticks;
    for (int most = 10; most > 0; --most) {
        ticks = linear_ticks(low, high, most);
        double widest = 0;
        for (const double tick : ticks)
            widest = std::max<double>(widest, canvas.text_width(tick_text(tick), sizes.text));
        const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : high - low;
        if (step / (high - low) * pixels >= widest + sizes.text) break;
    }
    return ticks;
}

double share_of(const Axis& axis, double value) {
    return (value - axis.first) / (axis.last - axis.first);
}

/// A number under a bar, and its position: 0 is the left end, 1 the right end.
struct Number {
    double share;
    std::string text;
};

std::vector<Number> numbers_of_bar(const Canvas& canvas, const BarRange& range, int width,
                                   Sizes sizes) {
    const auto [low, high, is_log10] = range;
    std::vector<Number> numbers;
    for (const double tick : is_log10 ? log_ticks(std::pow(10, low), std::pow(10, high))
                                      : fitting_ticks(canvas, low, high, width, sizes)) {
        const double value = is_log10 ? std::log10(tick) : tick;
        numbers.push_back({(value - low) / (high - low), tick_text(tick)});
    }
    return numbers;
}

/// Draws ticks under the lower edge of `box`, and numbers where they do not overlap.
class Row {
public:
    Row(Canvas& canvas, const Box& box, Sizes sizes) : canvas_(canvas), box_(box), sizes_(sizes) {}
    void put(double share, const std::string& text) {
        const int at = box_.x + int(std::lround(share * (box_.width - 1)));
        canvas_.fill(at, box_.y - sizes_.tick(), 1, sizes_.tick(), black);
        const double half = canvas_.text_width(text, sizes_.text) / 2.0;
        if (at - half < end_ + sizes_.text / 2.0) return;
        canvas_.text(at, box_.y - sizes_.tick() - sizes_.row() / 2.0, text, sizes_.text, black,
                     Align::center);
        end_ = at + half;
    }

private:
    Canvas& canvas_;
    Box box_;
    Sizes sizes_;
    double end_ = -1e9;
};

void draw_x(Canvas& canvas, const Axis& axis, const Box& box, Sizes sizes) {
    Row row(canvas, box, sizes);
    std::vector<double> ticks = fitting_ticks(canvas, std::min(axis.first, axis.last),
                                              std::max(axis.first, axis.last), box.width, sizes);
    if (axis.first > axis.last) std::reverse(ticks.begin(), ticks.end());  // left to right
    for (const double tick : ticks) row.put(share_of(axis, tick), tick_text(tick));
    if (axis.text.empty()) return;
    canvas.text(box.x + box.width / 2.0, box.y - sizes.tick() - 1.5 * sizes.row(), axis.text,
                sizes.text, black, Align::center);
}

void draw_y(Canvas& canvas, const Axis& axis, const Box& box, Sizes sizes, int left) {
    for (const double tick : upright_ticks(axis, box.height, sizes)) {
        const int at = box.y + int(std::lround(share_of(axis, tick) * (box.height - 1)));
        canvas.fill(box.x - sizes.tick(), at, sizes.tick(), 1, black);
        canvas.text(box.x - 1.5 * sizes.tick(), at, tick_text(tick), sizes.text, black,
                    Align::right);
    }
    if (axis.text.empty()) return;
    canvas.text(box.x - left + sizes.row() / 2.0, box.y + box.height / 2.0, axis.text, sizes.text,
                black, Align::center, true);
}

/// Draws lines around the field, outside of it.
void draw_edges(Canvas& canvas, const Box& box) {
    const int width = box.width + 2, height = box.height + 2;
    canvas.fill(box.x - 1, box.y - 1, width, 1, black);
    canvas.fill(box.x - 1, box.y + box.height, width, 1, black);
    canvas.fill(box.x - 1, box.y - 1, 1, height, black);
    canvas.fill(box.x + box.width, box.y - 1, 1, height, black);
}

void draw_scale(Canvas& canvas, const Axis& x, const Box& box, Sizes sizes) {
    const double whole = std::abs(x.last - x.first), length = round_down(whole / 4);
    const int width = int(std::lround(length / whole * box.width));
    const int y = box.y - sizes.tick() - sizes.row() / 2, reach = sizes.tick() / 2;
    canvas.fill(box.x, y - 1, width, 2, black);
    for (const int at : {box.x, box.x + width - 2})
        canvas.fill(at, y - 1 - reach, 2, 2 * reach + 2, black);
    const std::string unit = x.unit.empty() ? "" : " " + x.unit;
    canvas.text(box.x + width + sizes.text / 2.0, y, tick_text(length) + unit, sizes.text, black,
                Align::left);
}

}  // namespace

int left_of_frame(const Canvas& canvas, const PictureLabel& label, int height, Sizes sizes) {
    if (label.frame != SURROGATE_FRAME_AXES) return 0;
    int widest = 0;
    for (const double tick : upright_ticks(label.y, height, sizes))
        widest = std::max(widest, canvas.text_width(tick_text(tick), sizes.text));
    return widest + 2 * sizes.tick() + (label.y.text.empty() ? 0 : sizes.row());
}

int below_frame(const PictureLabel& label, Sizes sizes) {
    if (label.frame == SURROGATE_FRAME_NONE) return 0;
    const bool has_name = label.frame == SURROGATE_FRAME_AXES && !label.x.text.empty();
    return sizes.tick() + sizes.row() * (has_name ? 2 : 1);
}

void draw_frame(Canvas& canvas, const PictureLabel& label, const Box& box, Sizes sizes) {
    if (label.frame == SURROGATE_FRAME_SCALE) draw_scale(canvas, label.x, box, sizes);
    if (label.frame != SURROGATE_FRAME_AXES) return;
    draw_x(canvas, label.x, box, sizes);
    draw_y(canvas, label.y, box, sizes, left_of_frame(canvas, label, box.height, sizes));
    draw_edges(canvas, box);
}

void draw_bar_numbers(Canvas& canvas, const BarRange& range, const Box& bar, Sizes sizes) {
    Row row(canvas, bar, sizes);
    for (const Number& number : numbers_of_bar(canvas, range, bar.width, sizes))
        row.put(number.share, number.text);
}

Overhang overhang_of_bar(const Canvas& canvas, const BarRange& range, int width, Sizes sizes) {
    double left = 0, right = 0;
    for (const Number& number : numbers_of_bar(canvas, range, width, sizes)) {
        const double half = canvas.text_width(number.text, sizes.text) / 2.0;
        left = std::max(left, half - number.share * width);
        right = std::max(right, half - (1 - number.share) * width);
    }
    return {int(std::ceil(left)), int(std::ceil(right))};
}

}  // namespace surrogate::vtk
