// SPDX-License-Identifier: Apache-2.0
// Series on the sphere: bands of rows with one shared row, read back as one closed surface.
#include <vtkInformation.h>
#include <vtkInformationStringKey.h>
#include <vtkPointData.h>
#include <vtkStructuredGrid.h>
#include <vtkXMLPStructuredGridReader.h>
#include <vtkXMLStructuredGridReader.h>

#include <limits>
#include <numbers>

#include "tests/coupling/vtk/read.hpp"
#include "tests/coupling/vtk/series.hpp"

namespace surrogate::test {
namespace {

constexpr int64_t n_lat = 7, n_lon = 12;

double latitude_of(int64_t row) {
    return 80.0 - 160.0 / (n_lat - 1) * static_cast<double>(row);
}

/// A value that tells the point.
double value_of(int64_t row, int64_t col) {
    return static_cast<double>(100 * row + col);
}

/// Rows first .. first + n - 1 of the sphere, with the next one as the overlap if there is one.
struct Band {
    Band(int64_t first, int64_t n) {
        const bool is_last = first + n == n_lat || n == 0;
        surface = {n_lat, n_lon, first, n, nullptr, nullptr, 2.0, 0, is_last ? 0 : 1};
        for (int64_t i = first; i < first + n + surface.n_overlap; ++i) {
            latitude.push_back(latitude_of(i));
            for (int64_t j = 0; j < n_lon; ++j) {
                height.push_back(static_cast<float>(value_of(i, j)));
                wind.push_back(value_of(i, j));
                wind.push_back(-value_of(i, j));
            }
        }
    }
    surrogate_status write(surrogate_series* series, double time_s, surrogate_piece* piece) {
        surface.latitude = latitude.data();
        const auto n = static_cast<int64_t>(height.size());
        const surrogate_series_field fields[] = {
            field("height", SURROGATE_POINT, column(height.data(), n), "m"),
            field("wind", SURROGATE_POINT, matrix(wind.data(), n, 2))};
        return surrogate_series_write_sphere(series, time_s, &surface, 2, fields, piece);
    }
    surrogate_sphere_surface surface;
    std::vector<double> latitude, wind;
    std::vector<float> height;
};

/// Expects a row of a cap: all its points are at the pole and have the mean of the adjacent row.
void expect_cap(vtkStructuredGrid* grid, int64_t file_row, int64_t row, double z) {
    const double mean = value_of(row, 0) + (n_lon - 1) / 2.0;
    for (int64_t j = 0; j <= n_lon; ++j) {
        const int64_t at = file_row * (n_lon + 1) + j;
        double x[3];
        grid->GetPoint(at, x);
        EXPECT_EQ(x[0], 0);
        EXPECT_EQ(x[1], 0);
        EXPECT_EQ(x[2], z);
        EXPECT_EQ(grid->GetPointData()->GetArray("height")->GetComponent(at, 0), mean);
        EXPECT_EQ(grid->GetPointData()->GetArray("wind")->GetComponent(at, 1), -mean);
    }
}

/// The grid is the whole closed sphere with the values of its points, and caps at both poles if
/// n_cap is 1.
void expect_sphere(vtkDataSet* data, double radius, int64_t n_cap = 1) {
    auto* grid = vtkStructuredGrid::SafeDownCast(data);
    ASSERT_NE(grid, nullptr);
    ASSERT_EQ(grid->GetNumberOfPoints(), (n_lat + 2 * n_cap) * (n_lon + 1));
    ASSERT_EQ(grid->GetNumberOfCells(), (n_lat - 1 + 2 * n_cap) * n_lon);
    if (n_cap == 1) {
        expect_cap(grid, 0, 0, radius);
        expect_cap(grid, n_lat + 1, n_lat - 1, -radius);
    }
    vtkDataArray* height = grid->GetPointData()->GetArray("height");
    vtkDataArray* wind = grid->GetPointData()->GetArray("wind");
    ASSERT_TRUE(height && wind);
    EXPECT_EQ(height->GetDataType(), VTK_FLOAT);
    EXPECT_EQ(wind->GetDataType(), VTK_DOUBLE);
    EXPECT_STREQ(height->GetInformation()->Get(vtkDataArray::UNITS_LABEL()), "m");
    const double degree = std::numbers::pi / 180;
    for (int64_t i = 0; i < n_lat; ++i)
        for (int64_t j = 0; j <= n_lon; ++j) {
            const int64_t at = (i + n_cap) * (n_lon + 1) + j;
            ASSERT_EQ(height->GetComponent(at, 0), value_of(i, j % n_lon)) << i << " " << j;
            ASSERT_EQ(wind->GetComponent(at, 1), -value_of(i, j % n_lon)) << i << " " << j;
            const double lat = latitude_of(i) * degree;
            const double lon = 360.0 / n_lon * static_cast<double>(j) * degree;
            double x[3];
            grid->GetPoint(at, x);
            ASSERT_NEAR(x[0], radius * std::cos(lat) * std::cos(lon), 1e-14 * radius);
            ASSERT_NEAR(x[1], radius * std::cos(lat) * std::sin(lon), 1e-14 * radius);
            ASSERT_NEAR(x[2], radius * std::sin(lat), 1e-14 * radius);
        }
    double begin[3], end[3];
    grid->GetPoint(n_cap * (n_lon + 1), begin);
    grid->GetPoint(n_cap * (n_lon + 1) + n_lon, end);
    EXPECT_TRUE(std::equal(begin, begin + 3, end)) << "the seam is closed, bitwise identical";
}

TEST(VtkSphere, OneRankWritesTheWholeClosedSphere) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 1);
    Band all(0, n_lat);
    ASSERT_EQ(text_of(all.write(ranks.at(0), 0, ranks.piece(0))), success);
    ASSERT_EQ(text_of(ranks.publish()), success);
    const auto steps = read_pvd(folder / "run.pvd");
    ASSERT_EQ(steps.at(0).file, "run/step_000000.vts");
    expect_sphere(read<vtkXMLStructuredGridReader>(folder / steps[0].file), 2.0);
}

TEST(VtkSphere, BandsShareARowAndComeBackAsOneSurface) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 4);
    // A band of one row, a rank without rows, and a last row that the rank before holds.
    Band bands[] = {Band(0, 1), Band(1, 0), Band(1, 5), Band(6, 1)};
    for (int step = 0; step < 2; ++step) {
        for (int rank = 0; rank < 4; ++rank)
            ASSERT_EQ(text_of(bands[rank].write(ranks.at(rank), step, ranks.piece(rank))), success);
        ASSERT_EQ(text_of(ranks.publish()), success);
    }
    EXPECT_FALSE(std::filesystem::exists(folder / "run/step_000000_0001.vts"));
    EXPECT_TRUE(std::filesystem::exists(folder / "run/step_000000_0003.vts")) << "the southern cap";
    const auto steps = read_pvd(folder / "run.pvd");
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[1].file, "run/step_000001.pvts");
    for (const auto& step : steps)
        expect_sphere(read<vtkXMLPStructuredGridReader>(folder / step.file), 2.0);
}

TEST(VtkSphere, OpenPolesLeaveTheRowsAsTheyAre) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 2);
    Band bands[] = {Band(0, 6), Band(6, 1)};
    for (int rank = 0; rank < 2; ++rank) {
        ASSERT_EQ(text_of(surrogate_series_set(ranks.at(rank), "poles", "open")), success);
        ASSERT_EQ(text_of(bands[rank].write(ranks.at(rank), 0, ranks.piece(rank))), success);
    }
    ASSERT_EQ(text_of(ranks.publish()), success);
    EXPECT_FALSE(std::filesystem::exists(folder / "run/step_000000_0001.vts"))
        << "its row is shared";
    expect_sphere(read<vtkXMLPStructuredGridReader>(folder / "run/step_000000.pvts"), 2.0, 0);
    expect_refusal(surrogate_series_set(Ranks(folder / "b.pvd", 1).at(0), "poles", "half"),
                   {SURROGATE_INVALID_ARGUMENT, "closed or open"});
}

TEST(VtkSphere, CapsAreOnlyWhereAGlobeHasNoPoleRowAndIsNearThePole) {
    const Folder folder;
    const auto n_row = [&](const std::vector<double>& latitude, int is_lon_lat) {
        Ranks ranks(folder / "run.pvd", 1);
        std::vector<double> values(latitude.size() * n_lon, 1.0);
        const surrogate_sphere_surface surface = {static_cast<int64_t>(latitude.size()),
                                                  n_lon,
                                                  0,
                                                  static_cast<int64_t>(latitude.size()),
                                                  latitude.data(),
                                                  nullptr,
                                                  1.0,
                                                  is_lon_lat,
                                                  0};
        const auto f =
            field("f", SURROGATE_POINT, column(values.data(), static_cast<int64_t>(values.size())));
        EXPECT_EQ(
            text_of(surrogate_series_write_sphere(ranks.at(0), 0, &surface, 1, &f, ranks.piece(0))),
            success);
        EXPECT_EQ(text_of(ranks.publish()), success);
        const auto grid = read<vtkXMLStructuredGridReader>(folder / "run/step_000000.vts");
        return grid->GetNumberOfPoints() / (n_lon + 1);
    };
    EXPECT_EQ(n_row({67.5, 22.5, -22.5, -67.5}, 0), 6);
    EXPECT_EQ(n_row({90, 30, -30, -90}, 0), 4) << "has pole rows";
    EXPECT_EQ(n_row({90, 36, -18, -72}, 0), 5) << "one of them";
    EXPECT_EQ(n_row({40, 20, 0, -20}, 0), 4) << "a part of the globe";
    EXPECT_EQ(n_row({67.5, 22.5, -22.5, -67.5}, 1), 4) << "a map";
}

TEST(VtkSphere, RanksThatCountFromTheSouthFormTheSameSurface) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 2);
    Band bands[] = {Band(0, 3), Band(3, 4)};
    for (int rank = 0; rank < 2; ++rank) {
        for (double& lat : bands[rank].latitude) lat = -lat;
        ASSERT_EQ(text_of(bands[rank].write(ranks.at(rank), 0, ranks.piece(rank))), success);
    }
    ASSERT_EQ(text_of(ranks.publish()), success);
    const auto grid = read<vtkXMLPStructuredGridReader>(folder / "run/step_000000.pvts");
    double x[3];
    grid->GetPoint(0, x);
    EXPECT_EQ(x[2], -2.0);
    grid->GetPoint(n_lon + 1, x);
    EXPECT_LT(x[2], -1.9);
    grid->GetPoint(8 * (n_lon + 1), x);
    EXPECT_EQ(x[2], 2.0);
    EXPECT_EQ(grid->GetPointData()->GetArray("height")->GetComponent(7 * (n_lon + 1), 0),
              value_of(6, 0));
}

TEST(VtkSphere, AMapHasDegreesAndRepeatsTheFirstColumn360DegreesEast) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 1);
    Band all(0, n_lat);
    all.surface.is_lon_lat = 1;
    std::vector<double> east;  // from 15 W, so that the numbers start again at the second column
    for (int64_t j = 0; j < n_lon; ++j) east.push_back(j == 0 ? 345.0 : 30.0 * double(j) - 15.0);
    all.surface.longitude = east.data();
    ASSERT_EQ(text_of(all.write(ranks.at(0), 0, ranks.piece(0))), success);
    const auto grid = read<vtkXMLStructuredGridReader>(folder / "run/step_000000.vts");
    for (int64_t i = 0; i < n_lat; ++i)
        for (int64_t j = 0; j <= n_lon; ++j) {
            double x[3];
            grid->GetPoint(i * (n_lon + 1) + j, x);
            ASSERT_EQ(x[0], 345.0 + 30.0 * static_cast<double>(j));
            ASSERT_EQ(x[1], latitude_of(i));
            ASSERT_EQ(x[2], 2.0);
        }
}

TEST(VtkSphere, PublishRefusesBandsWithoutTheSharedRow) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 2);
    Band north(0, 3), south(3, 4);
    north.surface.n_overlap = 0;
    north.latitude.pop_back();
    north.height.resize(3 * n_lon);
    north.wind.resize(2 * 3 * n_lon);
    ASSERT_EQ(text_of(north.write(ranks.at(0), 0, ranks.piece(0))), success);
    ASSERT_EQ(text_of(south.write(ranks.at(1), 0, ranks.piece(1))), success);
    expect_refusal(ranks.publish(), {SURROGATE_SHAPE, "84 cells, the whole grid has 96"});
}

TEST(VtkSphere, WriteRefusesSurfacesAndFieldsThatDoNotFit) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 1);
    const auto refuse = [&](auto&& spoil, const Refusal& wanted) {
        Band band(1, 3);
        spoil(band);
        expect_refusal(band.write(ranks.at(0), 0, ranks.piece(0)), wanted);
        EXPECT_EQ(ranks.piece(0)->status, wanted.status);
    };
    refuse([](Band& b) { b.surface.n_lat = 1; }, {SURROGATE_SHAPE, "1 x 12"});
    refuse([](Band& b) { b.surface.n_overlap = 2; }, {SURROGATE_SHAPE, "n_overlap is 2"});
    refuse([](Band& b) { b.surface.first_lat = 4; }, {SURROGATE_SHAPE, "rows 4 .. 7"});
    refuse([](Band& b) { b.surface.first_lat = -1; }, {SURROGATE_SHAPE, "rows -1 .. 2"});
    refuse([](Band& b) { b.surface.radius = 0; }, {SURROGATE_INVALID_ARGUMENT, "radius"});
    refuse([](Band& b) { b.latitude[2] = 91; }, {SURROGATE_INVALID_ARGUMENT, "latitude[2]"});
    refuse([](Band& b) { b.latitude[2] = b.latitude[0]; },
           {SURROGATE_INVALID_ARGUMENT, "turns at row 2"});
    refuse([](Band& b) { b.latitude[0] = std::numeric_limits<double>::quiet_NaN(); },
           {SURROGATE_INVALID_ARGUMENT, "latitude[0]"});
    std::vector<double> closed(n_lon);
    for (int64_t j = 0; j < n_lon; ++j)
        closed[static_cast<size_t>(j)] = 360.0 * static_cast<double>(j) / (n_lon - 1);
    refuse([&](Band& b) { b.surface.longitude = closed.data(); },
           {SURROGATE_INVALID_ARGUMENT, "longitude[11]"});
    refuse([](Band& b) { b.height.resize(3 * n_lon); },
           {SURROGATE_SHAPE, "'height' has 36 rows, this rank's mesh has 48 points"});
    expect_refusal(
        surrogate_series_write_sphere(ranks.at(0), 0, nullptr, 0, nullptr, ranks.piece(0)),
        {SURROGATE_INVALID_ARGUMENT, "surface is NULL"});
    Band band(0, n_lat);
    band.surface.latitude = band.latitude.data();
    const auto at_cells = field("flux", SURROGATE_CELL, column(band.height.data(), 72));
    expect_refusal(
        surrogate_series_write_sphere(ranks.at(0), 0, &band.surface, 1, &at_cells, ranks.piece(0)),
        {SURROGATE_INVALID_ARGUMENT, "at its points"});
}

}  // namespace
}  // namespace surrogate::test
