// SPDX-License-Identifier: Apache-2.0
#include <vtkImageData.h>
#include <vtkImageMapToColors.h>
#include <vtkLookupTable.h>
#include <vtkNew.h>
#include <vtkPNGWriter.h>
#include <vtkSmartPointer.h>
#include <vtkUnsignedCharArray.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "coupling/vtk/color_map.hpp"
#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

constexpr int64_t least_height = 400;   // of a panel
constexpr int64_t most_pixels = 16384;  // a side; beyond this viewers fail
constexpr int separator = 12;           // between and around panels
constexpr int bar_height = 14;

double value_at(const surrogate_array& array, int64_t i, int64_t j) {
    const int64_t at = i * array.stride[0] + j * array.stride[1];
    return array.dtype == SURROGATE_FLOAT32 ? static_cast<const float*>(array.data)[at]
                                            : static_cast<const double*>(array.data)[at];
}

void check_panel(const surrogate_png_panel& panel, const std::string& who) {
    const surrogate_array& values = panel.values;
    require(values.data, (who + ".values.data").c_str());
    if (values.space != SURROGATE_HOST)
        throw Error(SURROGATE_NOT_SUPPORTED, who + ".values does not lie on the host");
    if (values.dtype != SURROGATE_FLOAT32 && values.dtype != SURROGATE_FLOAT64)
        throw Error(SURROGATE_INVALID_ARGUMENT, who + ".values must be float or double");
    for (const int64_t n : values.shape)
        if (n < 1 || n > most_pixels)
            throw Error(SURROGATE_SHAPE, who + ".values has " + std::to_string(values.shape[0]) +
                                             " x " + std::to_string(values.shape[1]) +
                                             " elements; a picture has 1 to " +
                                             std::to_string(most_pixels) + " a side");
    if (!std::isfinite(panel.min) || !std::isfinite(panel.max) || panel.min > panel.max)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    who + ": min and max must be finite and min <= max (both 0: from the data)");
    color_at(panel.color_map, 0);
}

/// min and max of the colour map; never equal, so that a constant field has a colour too.
std::array<double, 2> range_of(const surrogate_png_panel& panel) {
    double low = panel.min, high = panel.max;
    if (low == 0 && high == 0) {
        low = std::numeric_limits<double>::infinity();
        high = -low;
        for (int64_t j = 0; j < panel.values.shape[1]; ++j)
            for (int64_t i = 0; i < panel.values.shape[0]; ++i) {
                const double value = value_at(panel.values, i, j);
                if (!std::isfinite(value)) continue;
                low = std::min(low, value);
                high = std::max(high, value);
            }
        if (low > high) low = high = 0;  // nothing finite
    }
    if (low == high) high = low + std::max(1.0, std::abs(low));
    return {low, high};
}

vtkSmartPointer<vtkLookupTable> make_table(int32_t color_map, std::array<double, 2> range) {
    constexpr int n_colors = 256;
    auto table = vtkSmartPointer<vtkLookupTable>::New();
    table->SetNumberOfTableValues(n_colors);
    for (int i = 0; i < n_colors; ++i) {
        const Rgb color = color_at(color_map, i / (n_colors - 1.0));
        table->SetTableValue(i, color[0], color[1], color[2]);
    }
    table->SetNanColor(no_value[0], no_value[1], no_value[2], 1);
    table->SetTableRange(range[0], range[1]);
    return table;
}

/// Colours of a grid of values, three bytes each, x fastest.
vtkSmartPointer<vtkImageData> colored(vtkImageData* values, vtkLookupTable* table) {
    vtkNew<vtkImageMapToColors> mapper;
    mapper->SetInputData(values);
    mapper->SetLookupTable(table);
    mapper->SetOutputFormatToRGB();
    mapper->Update();
    return mapper->GetOutput();
}

vtkSmartPointer<vtkImageData> make_values(int64_t n_x, int64_t n_y) {
    auto image = vtkSmartPointer<vtkImageData>::New();
    image->SetDimensions(static_cast<int>(n_x), static_cast<int>(n_y), 1);
    image->AllocateScalars(VTK_DOUBLE, 1);
    return image;
}

vtkSmartPointer<vtkImageData> color_field(const surrogate_array& values, vtkLookupTable* table) {
    const auto image = make_values(values.shape[0], values.shape[1]);
    auto* to = static_cast<double*>(image->GetScalarPointer());
    for (int64_t j = 0; j < values.shape[1]; ++j)
        for (int64_t i = 0; i < values.shape[0]; ++i) {
            const double value = value_at(values, i, j);
            *to++ = std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN();
        }
    return colored(image, table);
}

vtkSmartPointer<vtkImageData> color_bar(int64_t width, vtkLookupTable* table) {
    const auto image = make_values(width, 1);
    auto* to = static_cast<double*>(image->GetScalarPointer());
    const double* range = table->GetTableRange();
    for (int64_t i = 0; i < width; ++i)
        to[i] = range[0] + (range[1] - range[0]) * static_cast<double>(i) /
                               static_cast<double>(std::max<int64_t>(1, width - 1));
    return colored(image, table);
}

/// A panel as it will stand in the picture: `scale` pixels a value.
struct Block {
    vtkSmartPointer<vtkImageData> field, bar;
    int64_t scale, width, height;
};

Block make_block(const surrogate_png_panel& panel) {
    const auto table = make_table(panel.color_map, range_of(panel));
    const int64_t n_x = panel.values.shape[0], n_y = panel.values.shape[1];
    const int64_t wanted = (least_height + n_y - 1) / n_y;
    const int64_t scale = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, most_pixels / n_x));
    return {color_field(panel.values, table), color_bar(n_x * scale, table), scale, n_x * scale,
            n_y * scale};
}

/// Copies `from` with its lower left corner at (x, y) of the canvas, every value as scale_x x
/// scale_y pixels.
void paint(vtkImageData* from, vtkImageData* canvas, int64_t x, int64_t y, int64_t scale_x,
           int64_t scale_y) {
    const int64_t n_x = from->GetDimensions()[0], n_y = from->GetDimensions()[1];
    const int64_t width = canvas->GetDimensions()[0];
    const auto* source = static_cast<const unsigned char*>(from->GetScalarPointer());
    auto* target = static_cast<unsigned char*>(canvas->GetScalarPointer());
    for (int64_t j = 0; j < n_y * scale_y; ++j)
        for (int64_t i = 0; i < n_x * scale_x; ++i)
            std::copy_n(source + 3 * (j / scale_y * n_x + i / scale_x), 3,
                        target + 3 * ((y + j) * width + x + i));
}

vtkSmartPointer<vtkImageData> compose(const std::vector<Block>& blocks) {
    int64_t width = separator, height = 0;
    for (const Block& block : blocks) {
        width += block.width + separator;
        height = std::max(height, block.height);
    }
    if (width > 4 * most_pixels)
        throw Error(SURROGATE_LIMIT, "the picture would be " + std::to_string(width) +
                                         " pixels wide; give fewer panels");
    const int64_t below = 2 * separator + bar_height;  // bar, and space around it
    auto canvas = vtkSmartPointer<vtkImageData>::New();
    canvas->SetDimensions(static_cast<int>(width), static_cast<int>(below + height + separator), 1);
    canvas->AllocateScalars(VTK_UNSIGNED_CHAR, 3);
    std::fill_n(static_cast<unsigned char*>(canvas->GetScalarPointer()),
                3 * canvas->GetNumberOfPoints(), static_cast<unsigned char>(255));
    int64_t x = separator;
    for (const Block& block : blocks) {
        paint(block.field, canvas, x, below + height - block.height, block.scale, block.scale);
        paint(block.bar, canvas, x, separator, 1, bar_height);
        x += block.width + separator;
    }
    return canvas;
}

void write_png(const std::string& path, int32_t n_panels, const surrogate_png_panel* panels) {
    if (n_panels < 1)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    "n_panels is " + std::to_string(n_panels) + ", a picture needs one");
    std::vector<Block> blocks;
    for (int32_t i = 0; i < n_panels; ++i) {
        check_panel(panels[i], "panels[" + std::to_string(i) + "]");
        blocks.push_back(make_block(panels[i]));
    }
    vtkNew<vtkPNGWriter> writer;
    writer->SetInputData(compose(blocks));
    writer->WriteToMemoryOn();  // the file is written by us, whole or not at all
    writer->Write();
    vtkUnsignedCharArray* bytes = writer->GetResult();
    if (bytes == nullptr || bytes->GetNumberOfValues() == 0)
        throw Error(SURROGATE_INTERNAL, "VTK made no picture");
    write_atomically(path, bytes->GetPointer(0), static_cast<size_t>(bytes->GetNumberOfValues()));
}

}  // namespace

}  // namespace surrogate::vtk

extern "C" surrogate_status surrogate_png_write(const char* path, int32_t n_panels,
                                                const surrogate_png_panel* panels) {
    using namespace surrogate::vtk;
    return guarded([&] {
        require(path, "path");
        require(panels, "panels");
        write_png(path, n_panels, panels);
    });
}
