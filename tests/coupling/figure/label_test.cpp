// SPDX-License-Identifier: Apache-2.0
// Words and numbers on pictures, found as ink where they belong.
#include <gtest/gtest.h>
#include <surrogate/surrogate_vtk.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/coupling/figure/drawn_picture.hpp"
#include "tests/coupling/vtk/read.hpp"

namespace surrogate::test {
namespace {

// Sizes of a picture of one panel, 400 pixels wide: letters of 15 pixels.
constexpr int bar = 15, tick = 5, row = 24;

surrogate_png_panel panel_of(std::vector<double>& values, int64_t n_x, double min, double max) {
    const auto n_y = static_cast<int64_t>(values.size()) / n_x;
    return {{values.data(), {n_x, n_y}, {1, n_x}, SURROGATE_FLOAT64, 0},
            min,
            max,
            SURROGATE_COLOR_SEQUENTIAL};
}

/// A panel of 2 x 2 values that says `label`, drawn and read back.
class Drawn {
public:
    explicit Drawn(const surrogate_png_label& label, const char* heading = nullptr, double min = 0,
                   double max = 1) {
        const auto panel = panel_of(values_, 2, min, max);
        status_ =
            surrogate_png_write_labeled((folder_ / "a.png").c_str(), heading, 1, &panel, &label);
    }
    surrogate_status status() const { return status_; }
    Picture picture() const { return Picture(folder_ / "a.png"); }

private:
    Folder folder_;
    std::vector<double> values_ = {0, 0.3, 0.6, 1};
    surrogate_status status_;
};

TEST(VtkLabel, NumbersStandUnderTheBarEvenWithoutWords) {
    const Drawn drawn({});
    ASSERT_EQ(drawn.status(), SURROGATE_SUCCESS) << surrogate_vtk_error();
    const Picture picture = drawn.picture();
    EXPECT_EQ(picture.height(), 3 * margin + row + tick + bar + 400);
    EXPECT_EQ(picture.width(), 400 + 2 * margin + 15);
    EXPECT_EQ(picture.at(2, 2), white_pixel);
    const int bar_y = margin + row + tick;
    for (const double value : {0.0, 0.1, 0.3, 0.5, 0.8, 1.0}) {
        const int x = margin + int(std::lround(value * 399));
        EXPECT_GE(picture.n_ink(x - 1, bar_y - tick, x + 2, bar_y), tick - 1) << value;
        EXPECT_GT(picture.n_ink(std::max(0, x - 12), margin, x + 12, margin + row), 8) << value;
    }
    EXPECT_EQ(picture.n_ink(margin + 10, bar_y - tick, margin + 30, bar_y), 0) << "no tick at 0.05";
}

TEST(VtkLabel, WordsStandWhereTheyBelong) {
    surrogate_png_label label{};
    label.title = "a title";
    label.quantity = "mobility";
    label.unit = "m\xc2\xb2/(Pa s)";  // UTF-8 beyond ASCII
    const Drawn drawn(label, "a heading");
    ASSERT_EQ(drawn.status(), SURROGATE_SUCCESS) << surrogate_vtk_error();
    const Picture picture = drawn.picture();
    const int field_top = 2 * margin + 2 * row + tick + bar + 400;
    ASSERT_EQ(picture.height(), field_top + row + 2 * row + margin);
    EXPECT_GT(picture.n_ink(margin, margin, 200, margin + row), 100) << "quantity and unit";
    EXPECT_GT(picture.n_ink(margin, field_top, 200, field_top + row), 50) << "title";
    EXPECT_GT(picture.n_ink(margin, field_top + 2 * row, 200, picture.height()), 50) << "heading";
    EXPECT_EQ(picture.n_ink(250, field_top, picture.width(), picture.height()), 0);
}

TEST(VtkLabel, AxesHaveNumbersNamesAndEdges) {
    surrogate_png_label label{};
    label.frame = SURROGATE_FRAME_AXES;
    label.x = {"x", "m", 0, 10};
    label.y = {"y", "m", 3, -1};  // downwards
    const Drawn drawn(label);
    ASSERT_EQ(drawn.status(), SURROGATE_SUCCESS) << surrogate_vtk_error();
    const Picture picture = drawn.picture();
    const int left = picture.width() - margin - 15 - 400;
    const int below = 2 * margin + row + tick + bar + tick + 2 * row;
    ASSERT_EQ(picture.height(), below + 400 + margin);
    for (int i = 0; i < 400; i += 7)
        EXPECT_EQ(picture.n_ink(left + i, below - 1, left + i + 1, below), 1) << "an edge";
    EXPECT_GE(picture.n_ink(left + 198, below - tick, left + 202, below - 1), 3) << "tick of 5";
    EXPECT_GT(picture.n_ink(left + 190, below - tick - row, left + 210, below - tick), 15) << "5";
    EXPECT_GT(picture.n_ink(left + 180, below - tick - 2 * row, left + 220, below - tick - row), 20)
        << "x [m]";
    EXPECT_GT(picture.n_ink(left - tick, below + 99, left - 1, below + 102), 2) << "tick of 2";
    EXPECT_GT(picture.n_ink(margin, below + 170, margin + row, below + 230), 20) << "y [m]";
}

TEST(VtkLabel, AScaleIsABarOfARoundLength) {
    surrogate_png_label label{};
    label.frame = SURROGATE_FRAME_SCALE;
    label.x = {nullptr, "m", 0, 9};  // a quarter is 2.25: the bar is 2 m, 2 / 9 of 400 pixels
    const Drawn drawn(label);
    ASSERT_EQ(drawn.status(), SURROGATE_SUCCESS) << surrogate_vtk_error();
    const Picture picture = drawn.picture();
    const int y = 2 * margin + row + tick + bar + row / 2;
    EXPECT_GE(picture.n_ink(margin, y - 2, margin + 89, y + 3), 2 * 85);
    EXPECT_EQ(picture.n_ink(margin + 91, y - 2, margin + 94, y + 3), 0) << "the bar has ended";
    EXPECT_GT(picture.n_ink(margin + 94, y - row / 2, margin + 150, y + row / 2), 25) << "2 m";
}

TEST(VtkLabel, NumbersOfALogarithmicBarAreThoseBehindTheLogarithms) {
    surrogate_png_label label{};
    label.is_log10 = 1;
    const Drawn drawn(label, nullptr, 0, 2);  // 1 .. 100
    ASSERT_EQ(drawn.status(), SURROGATE_SUCCESS) << surrogate_vtk_error();
    const Picture picture = drawn.picture();
    const int bar_y = margin + row + tick;
    for (const double value : {1, 2, 5, 10, 20, 50, 100}) {
        const int x = margin + int(std::lround(std::log10(value) / 2 * 399));
        EXPECT_GE(picture.n_ink(x - 1, bar_y - tick, x + 2, bar_y), tick - 1) << value;
    }
    const int seven = margin + int(std::lround(std::log10(7) / 2 * 399));
    EXPECT_EQ(picture.n_ink(seven - 2, bar_y - tick, seven + 2, bar_y), 0);
}

TEST(VtkLabel, NaNIsGreyWhiteOrOutlined) {
    const Folder folder;
    std::vector<double> values(100 * 100, std::nan(""));
    for (int j = 40; j < 60; ++j)
        for (int i = 40; i < 60; ++i) values[static_cast<size_t>(100 * j + i)] = 1;
    values[0] = 1.0 / 0.0;
    const auto panel = panel_of(values, 100, 0, 1);
    const Pixel grey = {128, 128, 128};
    const Pixel beside[] = {grey, white_pixel, grey}, far[] = {grey, white_pixel, white_pixel};
    const int below = 2 * margin + row + tick + bar;
    for (const int nan : {SURROGATE_NAN_GRAY, SURROGATE_NAN_WHITE, SURROGATE_NAN_OUTLINED}) {
        surrogate_png_label label{};
        label.nan = nan;
        ASSERT_EQ(
            surrogate_png_write_labeled((folder / "a.png").c_str(), nullptr, 1, &panel, &label),
            SURROGATE_SUCCESS)
            << surrogate_vtk_error();
        const Picture picture(folder / "a.png");
        const auto at = [&](int i, int j) {
            return picture.at(margin + 4 * i + 1, below + 4 * j + 1);
        };
        EXPECT_EQ(at(39, 50), beside[nan]) << nan;
        EXPECT_EQ(at(20, 50), far[nan]) << nan;
        EXPECT_EQ(at(0, 0), grey) << "infinity went wrong, whatever NaN means";
        EXPECT_NE(at(50, 50), white_pixel);
    }
}

TEST(VtkLabel, TheOutlineClosesWhereTheGridEnds) {
    const Folder folder;
    constexpr int n = 100;
    std::vector<double> values(n * n, 1.0);  // a disk that touches all four edges
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i)
            if (std::hypot(i + 0.5 - n / 2, j + 0.5 - n / 2) > n / 2)
                values[static_cast<size_t>(n * j + i)] = std::nan("");
    const auto panel = panel_of(values, n, 0, 1);
    const Pixel grey = {128, 128, 128};
    const int below = 2 * margin + row + tick + bar, middle = 200, end = 400;
    for (const int nan : {SURROGATE_NAN_WHITE, SURROGATE_NAN_OUTLINED}) {
        surrogate_png_label label{};
        label.nan = nan;
        ASSERT_EQ(
            surrogate_png_write_labeled((folder / "a.png").c_str(), nullptr, 1, &panel, &label),
            SURROGATE_SUCCESS)
            << surrogate_vtk_error();
        const Picture picture(folder / "a.png");
        const Pixel wanted = nan == SURROGATE_NAN_OUTLINED ? grey : white_pixel;
        const auto at = [&](int x, int y) { return picture.at(margin + x, below + y); };
        EXPECT_EQ(at(-1, middle), wanted);
        EXPECT_EQ(at(end, middle), wanted);
        EXPECT_EQ(at(middle, -1), wanted);
        EXPECT_EQ(at(middle, end), wanted);
        EXPECT_EQ(at(-1, 3), white_pixel) << "beside nothing";
        EXPECT_EQ(at(-4, middle), white_pixel) << "thin";
    }
}

TEST(VtkLabel, TheFirstNumberOfABarIsWhole) {
    const Folder folder;
    std::vector<double> values(4, 0.0);
    const std::vector<surrogate_png_panel> panels(2, panel_of(values, 2, -2e-5, 2e-5));
    std::vector<surrogate_png_label> labels(2);
    labels[1].frame = SURROGATE_FRAME_AXES;  // whose axis leaves room in any case
    labels[1].y = {"y", "m", 0, 1e-6};
    labels[1].x = {"x", "m", 0, 1};
    ASSERT_EQ(surrogate_png_write_labeled((folder / "a.png").c_str(), "", 2, panels.data(),
                                          labels.data()),
              SURROGATE_SUCCESS);
    const Picture picture(folder / "a.png");
    const int letters = 15, numbers = letters * 8 / 5, reach = 3 * letters;
    const auto first_tick = [&](int from) {
        int x = from;
        while (picture.n_ink(x, margin + numbers, x + 1, margin + numbers + letters / 3) == 0) ++x;
        return x;
    };
    const auto ink_around = [&](int x) {
        return picture.n_ink(std::max(0, x - reach), margin, x + reach, margin + numbers);
    };
    const int one = first_tick(0), two = first_tick(one + 400);
    EXPECT_EQ(picture.n_ink(0, 0, 2, picture.height()), 0) << "letters at the edge of the picture";
    EXPECT_EQ(ink_around(one), ink_around(two));
    EXPECT_GT(ink_around(one), 30);
}

TEST(VtkLabel, LettersGrowWithThePictureAndPanelsMakeRoomForTheirWords) {
    const Folder folder;
    std::vector<double> values(4, 1.0);
    const std::vector<surrogate_png_panel> panels(6, panel_of(values, 2, 0, 1));
    const std::vector<surrogate_png_label> labels(6);
    ASSERT_EQ(surrogate_png_write_labeled((folder / "a.png").c_str(), "", 6, panels.data(),
                                          labels.data()),
              SURROGATE_SUCCESS);
    constexpr int letters = 6 * 400 / 75;
    EXPECT_EQ(Picture(folder / "a.png").height(),
              3 * margin + letters * 8 / 5 + letters / 3 + letters + 400);
    surrogate_png_label wide{};
    const std::string title(120, 'W');
    wide.title = title.c_str();
    EXPECT_GT(Drawn(wide).picture().width(), 120 * 10);
}

TEST(VtkLabel, RefusesWhatCannotBeSaid) {
    const Folder folder;
    std::vector<double> values(4, 1.0);
    const auto panel = panel_of(values, 2, 0, 1);
    const std::string path = folder / "no.png";
    surrogate_png_label label{};
    const auto refuse = [&](const char* heading, const std::string& word) {
        testing::internal::CaptureStderr();
        EXPECT_EQ(surrogate_png_write_labeled(path.c_str(), heading, 1, &panel, &label),
                  SURROGATE_INVALID_ARGUMENT);
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
        EXPECT_NE(std::string(surrogate_vtk_error()).find(word), std::string::npos)
            << surrogate_vtk_error();
        label = {};
    };
    refuse("two\nlines", "heading is not one line");
    refuse("\xff\xfe", "UTF-8");
    refuse(std::string(201, 'a').c_str(), "at most 200 bytes");
    label.title = "\x1b[2J";
    refuse("", "labels[0].title");
    label.frame = 3;
    refuse("", "labels[0].frame is 3, expected 0 to 2");
    label.nan = -1;
    refuse("", "labels[0].nan is -1");
    label.is_log10 = 2;
    refuse("", "is_log10 is 2");
    label.frame = SURROGATE_FRAME_SCALE;
    refuse("", "labels[0].x goes from 0.000000 to 0.000000");
    label.frame = SURROGATE_FRAME_AXES;
    label.x = {"x", "m", 0, 1};
    label.y = {"y", "m", 0, std::nan("")};
    refuse("", "labels[0].y goes from");
    EXPECT_EQ(surrogate_png_write_labeled(path.c_str(), "", 1, &panel, nullptr),
              SURROGATE_INVALID_ARGUMENT);
    EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace surrogate::test
