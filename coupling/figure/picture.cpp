// SPDX-License-Identifier: Apache-2.0
#include "coupling/figure/picture.hpp"

#include <algorithm>
#include <cmath>

#include "coupling/figure/picture_axes.hpp"
#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

constexpr int most_width = 65536;  // pixels
constexpr int separator = 12;      // between and around panels
constexpr int plain_bar = 14;      // height of a bar without numbers

/// Returns a size of letters that are readable if a page shows the figure a thousand pixels wide.
int text_size(const std::vector<Panel>& panels) {
    int64_t width = 0;
    for (const Panel& panel : panels) width += panel.width();
    return static_cast<int>(std::clamp<int64_t>(width / 75, 15, 48));
}

/// Heights of the rows of a figure, from below; 0 for rows that no label uses.
struct Rows {
    int quantity = 0, numbers = 0, bar = plain_bar, frame = 0, field = 0, title = 0, heading = 0;

    int bar_y() const { return separator + quantity + numbers; }
    int field_top() const { return bar_y() + bar + separator + frame + field; }
    int height() const { return field_top() + title + heading + separator; }
};

Rows rows_of(const std::vector<Panel>& panels, const std::string& heading,
             const std::vector<PictureLabel>& labels, Sizes sizes) {
    Rows rows;
    for (const Panel& panel : panels) rows.field = std::max(rows.field, panel.height());
    for (const PictureLabel& label : labels) {
        if (!label.quantity.empty()) rows.quantity = sizes.row();
        if (!label.title.empty()) rows.title = sizes.row();
        if (label.has_numbers) {
            rows.numbers = sizes.tick() + sizes.row();
            rows.bar = std::max(plain_bar, sizes.text);
        }
        rows.frame = std::max(rows.frame, below_frame(label, sizes));
    }
    if (!heading.empty()) rows.heading = 2 * sizes.row();
    return rows;
}

BarRange range_of(const Panel& panel, const PictureLabel& label) {
    return {panel.low(), panel.high(), label.is_log10};
}

/// Widths of a panel and the parts beside its field; numbers of the bar extend beyond the edges of
/// the field.
struct Columns {
    int left, width;
};

Columns columns_of(const Canvas& canvas, const Panel& panel, const PictureLabel& label,
                   Sizes sizes) {
    Columns columns{left_of_frame(canvas, label, panel.height(), sizes), panel.width()};
    if (label.has_numbers) {
        const auto [left, right] =
            overhang_of_bar(canvas, range_of(panel, label), panel.width(), sizes);
        // Half a letter between the numbers of two panels, as within one panel.
        columns.left = std::max(columns.left, left + sizes.text / 2 - separator);
        columns.width += std::max(sizes.text, right);
    }
    for (const std::string& text : {label.title, label.quantity})
        if (!text.empty())
            columns.width = std::max(columns.width, canvas.text_width(text, sizes.text));
    return columns;
}

void draw_panel(Canvas& canvas, const Panel& panel, const PictureLabel& label, const Rows& rows,
                int x, Sizes sizes) {
    const Box box{x, rows.field_top() - panel.height(), panel.width(), panel.height()};
    const Box bar{x, rows.bar_y(), panel.width(), rows.bar};
    panel.draw(canvas, box.x, box.y, label.nan);
    panel.draw_bar(canvas, bar.x, bar.y, bar.width, bar.height);
    draw_frame(canvas, label, box, sizes);
    if (label.has_numbers) draw_bar_numbers(canvas, range_of(panel, label), bar, sizes);
    if (!label.title.empty())
        canvas.text(x, rows.field_top() + rows.title / 2.0, label.title, sizes.text, black,
                    Canvas::Align::left);
    if (!label.quantity.empty())
        canvas.text(x, separator + rows.quantity / 2.0, label.quantity, sizes.text, black,
                    Canvas::Align::left);
}

}  // namespace

std::vector<unsigned char> draw_picture(const std::vector<Panel>& panels,
                                        const std::string& heading,
                                        const std::vector<PictureLabel>& labels) {
    const Sizes sizes{text_size(panels)};
    const Canvas ruler(1, 1);
    const Rows rows = rows_of(panels, heading, labels, sizes);
    int64_t width = separator;
    std::vector<Columns> columns;
    for (size_t i = 0; i < panels.size(); ++i) {
        columns.push_back(columns_of(ruler, panels[i], labels[i], sizes));
        width += columns[i].left + columns[i].width + separator;
    }
    if (!heading.empty())
        width =
            std::max<int64_t>(width, 2 * separator + ruler.text_width(heading, sizes.text * 6 / 5));
    if (width > most_width)
        throw Error(SURROGATE_LIMIT, "the figure would be " + std::to_string(width) +
                                         " pixels wide; use fewer panels");
    Canvas canvas(static_cast<int>(width), rows.height());
    int x = separator;
    for (size_t i = 0; i < panels.size(); ++i) {
        x += columns[i].left;
        draw_panel(canvas, panels[i], labels[i], rows, x, sizes);
        x += columns[i].width + separator;
    }
    if (!heading.empty())
        canvas.text(separator, rows.height() - separator - sizes.row() / 2.0, heading,
                    sizes.text * 6 / 5, black, Canvas::Align::left);
    return canvas.png();
}

}  // namespace surrogate::vtk
