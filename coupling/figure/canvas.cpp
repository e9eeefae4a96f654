// SPDX-License-Identifier: Apache-2.0
#include "coupling/figure/canvas.hpp"

#include <vtkFreeTypeTools.h>
#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkPNGWriter.h>
#include <vtkTextProperty.h>
#include <vtkUnsignedCharArray.h>

#include <algorithm>
#include <cmath>

#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

constexpr int dots_per_inch = 72;  // makes a size equal to pixels

/// Renders a text to pixels, four bytes each.
void render(const std::string& text, int size, const Rgb& color, bool is_upright,
            vtkImageData* image) {
    vtkNew<vtkTextProperty> how;
    how->SetFontFamilyToArial();  // a font that VTK includes
    how->SetFontSize(size);
    how->SetColor(color[0], color[1], color[2]);
    how->SetOrientation(is_upright ? 90 : 0);
    vtkFreeTypeTools* const tools = vtkFreeTypeTools::GetInstance();
    const bool was_scaled = tools->GetScaleToPowerTwo();
    tools->ScaleToPowerTwoOff();
    const bool is_done = tools->RenderString(how, text, dots_per_inch, image);
    tools->SetScaleToPowerTwo(was_scaled);
    if (!is_done) throw Error(SURROGATE_INTERNAL, "VTK text rendering failed (font missing?)");
}

}  // namespace

Canvas::Canvas(int width, int height)
    : width_(width),
      height_(height),
      pixels_(3 * static_cast<size_t>(width) * static_cast<size_t>(height), 255) {}

void Canvas::blend(int x, int y, const Rgb& color, double share) {
    if (x < 0 || y < 0 || x >= width_ || y >= height_ || share <= 0) return;
    unsigned char* const pixel =
        &pixels_[3 *
                 (static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x))];
    for (size_t i = 0; i < 3; ++i)
        pixel[i] = static_cast<unsigned char>(
            std::lround((1 - share) * pixel[i] + share * 255 * color[i]));
}

void Canvas::fill(int x, int y, int width, int height, const Rgb& color) {
    for (int j = y; j < y + height; ++j)
        for (int i = x; i < x + width; ++i) blend(i, j, color, 1);
}

void Canvas::line(double x0, double y0, double x1, double y1, double thickness, const Rgb& color) {
    const double dx = x1 - x0, dy = y1 - y0, length2 = dx * dx + dy * dy;
    const double reach = thickness / 2 + 1;
    const auto first = [&](double a, double b) { return int(std::floor(std::min(a, b) - reach)); };
    const auto last = [&](double a, double b) { return int(std::ceil(std::max(a, b) + reach)); };
    for (int y = first(y0, y1); y <= last(y0, y1); ++y)
        for (int x = first(x0, x1); x <= last(x0, x1); ++x) {
            const double px = x - x0, py = y - y0;
            const double along =
                length2 == 0 ? 0 : std::clamp((px * dx + py * dy) / length2, 0.0, 1.0);
            const double distance = std::hypot(px - along * dx, py - along * dy);
            blend(x, y, color, std::clamp(thickness / 2 + 0.5 - distance, 0.0, 1.0));
        }
}

void Canvas::disk(double x, double y, double diameter, const Rgb& color) {
    line(x, y, x, y, diameter, color);
}

int Canvas::text_width(const std::string& text, int size) const {
    vtkNew<vtkImageData> image;
    render(text, size, {0, 0, 0}, false, image);
    return image->GetDimensions()[0];
}

void Canvas::text(double x, double y, const std::string& text, int size, const Rgb& color,
                  Align align, bool is_upright) {
    vtkNew<vtkImageData> image;
    render(text, size, color, is_upright, image);
    const int* const extent = image->GetDimensions();
    const int along = extent[is_upright ? 1 : 0];
    const int shift = align == Align::left ? 0 : align == Align::center ? along / 2 : along;
    const int left = int(std::lround(x)) - (is_upright ? extent[0] / 2 : shift);
    const int below = int(std::lround(y)) - (is_upright ? shift : extent[1] / 2);
    const auto* pixel = static_cast<const unsigned char*>(image->GetScalarPointer());
    for (int j = 0; j < extent[1]; ++j)
        for (int i = 0; i < extent[0]; ++i, pixel += 4)
            blend(left + i, below + j, color, pixel[3] / 255.0);
}

std::vector<unsigned char> Canvas::png() const {
    vtkNew<vtkImageData> image;
    image->SetDimensions(width_, height_, 1);
    image->AllocateScalars(VTK_UNSIGNED_CHAR, 3);
    std::copy(pixels_.begin(), pixels_.end(),
              static_cast<unsigned char*>(image->GetScalarPointer()));
    vtkNew<vtkPNGWriter> writer;
    writer->SetInputData(image);
    writer->WriteToMemoryOn();
    writer->Write();
    vtkUnsignedCharArray* const bytes = writer->GetResult();
    if (bytes == nullptr || bytes->GetNumberOfValues() == 0)
        throw Error(SURROGATE_INTERNAL, "VTK image creation failed");
    return {bytes->GetPointer(0), bytes->GetPointer(0) + bytes->GetNumberOfValues()};
}

}  // namespace surrogate::vtk
