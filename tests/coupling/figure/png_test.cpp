// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <surrogate/surrogate_vtk.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/figure/color_map.hpp"
#include "tests/coupling/figure/drawn_picture.hpp"
#include "tests/coupling/vtk/read.hpp"

namespace surrogate::test {
namespace {

Pixel pixel_of(int32_t color_map, double t) {
    const vtk::Rgb color = vtk::color_at(color_map, t);
    Pixel pixel;
    for (size_t c = 0; c < 3; ++c) pixel[c] = static_cast<int>(std::lround(255 * color[c]));
    return pixel;
}

/// VTK rounds colors differently: the tolerance is one step of 255.
void expect_near(const Pixel& found, const Pixel& wanted) {
    for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(found[c], wanted[c], 1);
}

constexpr int bottom = 38;  // bar and space

TEST(VtkPng, ASmallFieldIsDrawnLargeWithItsColoursInPlace) {
    const Folder folder;
    std::vector<double> values = {0, 1, 2, 3, 4, 5};  // 3 x 2, x fastest
    const surrogate_png_panel panel = {
        {values.data(), {3, 2}, {1, 3}, SURROGATE_FLOAT64, 0}, 0, 0, SURROGATE_COLOR_SEQUENTIAL};
    ASSERT_EQ(surrogate_png_write((folder / "a.png").c_str(), 1, &panel), SURROGATE_SUCCESS)
        << surrogate_vtk_error();
    EXPECT_EQ(bytes_of(folder / "a.png").substr(0, 8), "\x89PNG\r\n\x1a\n");
    const Picture picture(folder / "a.png");
    EXPECT_EQ(picture.width(), 600 + 2 * margin);
    EXPECT_EQ(picture.height(), 400 + margin + bottom);
    for (int j = 0; j < 2; ++j)
        for (int i = 0; i < 3; ++i)
            expect_near(picture.at(margin + 200 * i + 100, bottom + 200 * j + 100),
                        pixel_of(SURROGATE_COLOR_SEQUENTIAL, (i + 3 * j) / 5.0));
    EXPECT_EQ(picture.at(2, 2), (Pixel{255, 255, 255}));
    expect_near(picture.at(margin, 20), pixel_of(SURROGATE_COLOR_SEQUENTIAL, 0));
    expect_near(picture.at(margin + 599, 20), pixel_of(SURROGATE_COLOR_SEQUENTIAL, 1));
}

TEST(VtkPng, PanelsStandSideBySideWithTheirOwnRangesAndStrides) {
    const Folder folder;
    std::vector<float> by_column = {-1, 0, 0, 1};  // [i][j]
    std::vector<double> constant(4, 7.0);
    const surrogate_png_panel panels[] = {{{by_column.data(), {2, 2}, {2, 1}, SURROGATE_FLOAT32, 0},
                                           -1,
                                           1,
                                           SURROGATE_COLOR_DIVERGING},
                                          {{constant.data(), {2, 2}, {1, 2}, SURROGATE_FLOAT64, 0},
                                           0,
                                           0,
                                           SURROGATE_COLOR_SEQUENTIAL}};
    ASSERT_EQ(surrogate_png_write((folder / "b.png").c_str(), 2, panels), SURROGATE_SUCCESS)
        << surrogate_vtk_error();
    const Picture picture(folder / "b.png");
    EXPECT_EQ(picture.width(), 800 + 3 * margin);
    expect_near(picture.at(margin + 50, bottom + 50), pixel_of(SURROGATE_COLOR_DIVERGING, 0));
    expect_near(picture.at(margin + 350, bottom + 350), pixel_of(SURROGATE_COLOR_DIVERGING, 1));
    expect_near(picture.at(margin + 50, bottom + 350), pixel_of(SURROGATE_COLOR_DIVERGING, 0.5));
    EXPECT_EQ(picture.at(margin + 405, bottom + 50), (Pixel{255, 255, 255}));
    expect_near(picture.at(2 * margin + 500, bottom + 50), pixel_of(SURROGATE_COLOR_SEQUENTIAL, 0));
}

TEST(VtkPng, ValuesBeyondTheRangeTakeItsEndsAndNaNIsGrey) {
    const Folder folder;
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> values = {-9, 9, std::nan(""), infinity};
    const surrogate_png_panel panel = {
        {values.data(), {4, 1}, {1, 4}, SURROGATE_FLOAT64, 0}, 1, 2, SURROGATE_COLOR_SEQUENTIAL};
    ASSERT_EQ(surrogate_png_write((folder / "c.png").c_str(), 1, &panel), SURROGATE_SUCCESS);
    const Picture picture(folder / "c.png");
    expect_near(picture.at(margin + 10, bottom + 10), pixel_of(SURROGATE_COLOR_SEQUENTIAL, 0));
    expect_near(picture.at(margin + 410, bottom + 10), pixel_of(SURROGATE_COLOR_SEQUENTIAL, 1));
    expect_near(picture.at(margin + 810, bottom + 10), {128, 128, 128});
    expect_near(picture.at(margin + 1210, bottom + 10), {128, 128, 128});
}

/// Returns the CIE lightness of an sRGB color (D65).
double lightness(const vtk::Rgb& color) {
    const std::array<double, 3> share = {0.2126, 0.7152, 0.0722};
    double y = 0;
    for (size_t c = 0; c < 3; ++c)
        y += share[c] *
             (color[c] <= 0.04045 ? color[c] / 12.92 : std::pow((color[c] + 0.055) / 1.055, 2.4));
    return y > 0.008856 ? 116 * std::cbrt(y) - 16 : 903.3 * y;
}

TEST(VtkPng, MapsChangeEvenlyInLightness) {
    double smallest = 1e9, largest = 0;
    for (int i = 0; i < 16; ++i) {
        const double step = lightness(vtk::color_at(SURROGATE_COLOR_SEQUENTIAL, (i + 1) / 16.0)) -
                            lightness(vtk::color_at(SURROGATE_COLOR_SEQUENTIAL, i / 16.0));
        smallest = std::min(smallest, step);
        largest = std::max(largest, step);
    }
    EXPECT_GT(smallest, 0);
    EXPECT_LE(largest, 2 * smallest);  // no band looks like an edge that is not in the data
    for (double t = 0.05; t <= 1; t += 0.05) {
        const double drop = lightness(vtk::color_at(SURROGATE_COLOR_ON_WHITE, t - 0.05)) -
                            lightness(vtk::color_at(SURROGATE_COLOR_ON_WHITE, t));
        EXPECT_GT(drop, 1.0) << "at " << t;
        EXPECT_LT(drop, 4.0) << "at " << t;
    }
    EXPECT_LT(lightness(vtk::color_at(SURROGATE_COLOR_ON_WHITE, 0)), 75) << "seen on white";
    for (double t = 0; t < 0.5; t += 0.05)
        EXPECT_NEAR(lightness(vtk::color_at(SURROGATE_COLOR_DIVERGING, t)),
                    lightness(vtk::color_at(SURROGATE_COLOR_DIVERGING, 1 - t)), 8.0);
}

TEST(VtkPng, RefusesWhatCannotBeDrawn) {
    const Folder folder;
    std::vector<double> values(4);
    surrogate_png_panel panel = {{values.data(), {2, 2}, {1, 2}, SURROGATE_FLOAT64, 0}, 0, 0, 0};
    const auto refuse = [&](const std::string& path, const surrogate_png_panel* panels, int n,
                            surrogate_status status, const std::string& word) {
        testing::internal::CaptureStderr();
        EXPECT_EQ(surrogate_png_write(path.c_str(), n, panels), status) << surrogate_vtk_error();
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
        EXPECT_NE(std::string(surrogate_vtk_error()).find(word), std::string::npos)
            << surrogate_vtk_error();
    };
    const std::string path = folder / "d.png";
    refuse(folder / "no/d.png", &panel, 1, SURROGATE_IO, "No such file");
    refuse(path, nullptr, 1, SURROGATE_INVALID_ARGUMENT, "panels is NULL");
    refuse(path, &panel, 0, SURROGATE_INVALID_ARGUMENT, "n_panels");
    panel.color_map = 9;
    refuse(path, &panel, 1, SURROGATE_INVALID_ARGUMENT, "color map 9");
    panel.color_map = 0;
    panel.values.shape[1] = 0;
    refuse(path, &panel, 1, SURROGATE_SHAPE, "2 x 0");
    panel.values.shape[1] = 2;
    panel.min = 3;
    refuse(path, &panel, 1, SURROGATE_INVALID_ARGUMENT, "the first not above the second");
    panel.min = 0;
    panel.values.dtype = SURROGATE_INT32;
    refuse(path, &panel, 1, SURROGATE_INVALID_ARGUMENT, "SURROGATE_FLOAT32 or SURROGATE_FLOAT64");
    panel.values.data = nullptr;
    refuse(path, &panel, 1, SURROGATE_INVALID_ARGUMENT, "NULL");
    EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace surrogate::test
