// SPDX-License-Identifier: Apache-2.0
// Charts as pictures: curves, text and gaps, without a display.
#include "coupling/figure/chart.hpp"

#include <gtest/gtest.h>
#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkPNGReader.h>

#include <array>
#include <limits>

namespace {

using surrogate::vtk::Chart;
using surrogate::vtk::draw_chart;

/// Counts the pixels of about one color in a part of the figure.
int count(const std::vector<unsigned char>& png, std::array<int, 3> color, int x0, int y0, int x1,
          int y1, int tolerance = 8) {
    vtkNew<vtkPNGReader> reader;
    reader->SetMemoryBuffer(png.data());
    reader->SetMemoryBufferLength(static_cast<vtkIdType>(png.size()));
    reader->Update();
    vtkImageData* const image = reader->GetOutput();
    EXPECT_EQ(image->GetDimensions()[0], 960);
    EXPECT_EQ(image->GetDimensions()[1], 600);
    int n = 0;
    for (int y = y0; y < y1; ++y)
        for (int x = x0; x < x1; ++x) {
            const auto* pixel = static_cast<const unsigned char*>(image->GetScalarPointer(x, y, 0));
            bool is_near = true;
            for (size_t i = 0; i < 3; ++i)
                is_near = is_near && std::abs(pixel[i] - color[i]) < tolerance;
            n += is_near ? 1 : 0;
        }
    return n;
}

constexpr int soft = 100;  // edges of letters are gray
constexpr std::array<int, 3> blue = {0, 115, 179}, black = {33, 33, 33};

TEST(Chart, HasCurvesTicksAndNumbers) {
    Chart chart{"falling", "epoch", "error", {{"training", {}, {}}}};
    for (int i = 1; i <= 50; ++i) {
        chart.curves[0].x.push_back(i);
        chart.curves[0].y.push_back(1.0 / i);
    }
    const auto png = draw_chart(chart);
    EXPECT_GT(count(png, blue, 92, 64, 740, 552), 1000) << "the curve";
    EXPECT_GT(count(png, blue, 740, 450, 936, 552), 50) << "its line in the legend";
    EXPECT_GT(count(png, black, 30, 64, 86, 552, soft), 50) << "numbers beside the axis";
    EXPECT_GT(count(png, black, 92, 30, 936, 58, soft), 50) << "numbers below the axis";
    EXPECT_GT(count(png, black, 92, 560, 400, 600, soft), 50) << "the title";
}

TEST(Chart, ValuesWithoutALogarithmAreGaps) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const auto png =
        draw_chart({"", "epoch", "error", {{"a", {1, 2, 3}, {nan, 0, -1}}, {"none", {}, {}}}});
    EXPECT_EQ(count(png, blue, 92, 64, 740, 552), 0);
}

}  // namespace
