// SPDX-License-Identifier: Apache-2.0
// Serial meshes are cut by coordinates: few points are in several parts, whatever the order of the
// cells in the file.
#include <gtest/gtest.h>
#include <surrogate/surrogate_vtk.h>
#include <vtkCellArray.h>
#include <vtkNew.h>
#include <vtkPoints.h>
#include <vtkPolyData.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLUnstructuredGridWriter.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "coupling/mesh/bisect.hpp"
#include "coupling/mesh/cut.hpp"
#include "coupling/mesh/mesh_file.hpp"
#include "coupling/vtk/disk.hpp"
#include "tests/coupling/vtk/read.hpp"

namespace surrogate::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

/// Triangles over n x n points near the corners of a square, cells and points in random order: as
/// a Delaunay mesh of scattered points.
vtkSmartPointer<vtkUnstructuredGrid> scattered_triangles(int n) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> jitter(-0.3, 0.3);
    std::vector<vtkIdType> place(static_cast<size_t>(n) * static_cast<size_t>(n));
    for (size_t i = 0; i < place.size(); ++i) place[i] = static_cast<vtkIdType>(i);
    std::shuffle(place.begin(), place.end(), random);
    const auto at = [&](int i, int j) {
        return place[static_cast<size_t>(i) + static_cast<size_t>(n) * static_cast<size_t>(j)];
    };
    vtkNew<vtkPoints> points;
    points->SetNumberOfPoints(n * n);
    std::vector<std::array<vtkIdType, 3>> cells;
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
            points->SetPoint(at(i, j), i + jitter(random), j + jitter(random), 0);
            if (i + 1 == n || j + 1 == n) continue;
            cells.push_back({at(i, j), at(i + 1, j), at(i, j + 1)});
            cells.push_back({at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)});
        }
    std::shuffle(cells.begin(), cells.end(), random);
    auto grid = vtkSmartPointer<vtkUnstructuredGrid>::New();
    grid->SetPoints(points);
    for (const auto& cell : cells) grid->InsertNextCell(VTK_TRIANGLE, 3, cell.data());
    return grid;
}

struct Parts {
    size_t n_points = 0, smallest = SIZE_MAX, largest = 0;
    std::map<int64_t, int> cells, points;  // how often each is in a part
};

Parts cut_all(vtkDataSet* mesh, int n_parts) {
    Parts parts;
    for (int part = 0; part < n_parts; ++part) {
        const vtk::Part one = vtk::Cut(mesh, n_parts).part(part);
        EXPECT_TRUE(std::is_sorted(one.cell_rows.begin(), one.cell_rows.end()));
        EXPECT_EQ(one.grid->GetNumberOfCells(), static_cast<int64_t>(one.cell_rows.size()));
        EXPECT_EQ(one.grid->GetNumberOfPoints(), static_cast<int64_t>(one.point_rows.size()));
        for (const int64_t row : one.cell_rows) ++parts.cells[row];
        for (const int64_t row : one.point_rows) ++parts.points[row];
        parts.n_points += one.point_rows.size();
        parts.smallest = std::min(parts.smallest, one.cell_rows.size());
        parts.largest = std::max(parts.largest, one.cell_rows.size());
    }
    return parts;
}

// Cut by cell numbers, three parts of this mesh held 2.3 times its points.
TEST(MeshCut, ScatteredTrianglesShareFewPoints) {
    const int n = 39;  // 1,521 points
    const auto mesh = scattered_triangles(n);
    for (const auto& [n_parts, most] : {std::pair(2, 1.05), {3, 1.10}, {4, 1.10}, {8, 1.25}}) {
        const Parts parts = cut_all(mesh, n_parts);
        EXPECT_LE(double(parts.n_points), most * n * n) << n_parts << " parts";
        EXPECT_LE(parts.largest - parts.smallest, 1u);
        EXPECT_EQ(parts.points.size(), size_t(n * n));
        EXPECT_EQ(parts.cells.size(), size_t(mesh->GetNumberOfCells()));
        for (const auto& [cell, count] : parts.cells) EXPECT_EQ(count, 1) << cell;
    }
}

TEST(MeshCut, AFileOnThreeRanksToo) {
    const Folder folder;
    vtkNew<vtkXMLUnstructuredGridWriter> writer;
    const auto mesh = scattered_triangles(39);
    writer->SetInputData(mesh);
    vtk::write_file(writer, folder / "mesh.vtu", vtk::Compression::lz4);
    int64_t n_points = 0;
    for (int rank = 0; rank < 3; ++rank)
        n_points += vtk::MeshFile(folder / "mesh.vtu", rank, 3).n_rows(SURROGATE_POINT);
    EXPECT_LE(double(n_points), 1.10 * double(mesh->GetNumberOfPoints()));
}

/// Points on a line without cells, in random order.
TEST(MeshCut, PointsWithoutCellsStayTogether) {
    std::vector<int> order(100);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(3));
    vtkNew<vtkPoints> points;
    for (const int x : order) points->InsertNextPoint(x, 0, 0);
    vtkNew<vtkUnstructuredGrid> mesh;
    mesh->SetPoints(points);
    for (int part = 0; part < 4; ++part) {
        const vtk::Part one = vtk::Cut(mesh, 4).part(part);
        ASSERT_EQ(one.point_rows.size(), 25u);
        double bounds[6];
        one.grid->GetBounds(bounds);
        EXPECT_EQ(bounds[1] - bounds[0], 24.0);
    }
}

// Cells of polydata stay in their lists, also those that VTK does not count as lines or polygons.
TEST(MeshCut, PolydataKeepsItsListsAndDegenerateCells) {
    vtkNew<vtkPoints> points;
    for (int i = 0; i < 6; ++i) points->InsertNextPoint(i, 0, 0);
    vtkNew<vtkPolyData> mesh;
    mesh->SetPoints(points);
    vtkNew<vtkCellArray> verts, lines, polys;
    verts->InsertNextCell({0});
    lines->InsertNextCell({1});  // of one point
    lines->InsertNextCell({1, 2});
    polys->InsertNextCell({3, 4});  // of two points
    polys->InsertNextCell({3, 4, 5});
    mesh->SetVerts(verts);
    mesh->SetLines(lines);
    mesh->SetPolys(polys);
    std::map<std::string, int64_t> n;
    for (int part = 0; part < 3; ++part) {
        auto* one = vtkPolyData::SafeDownCast(vtk::Cut(mesh, 3).part(part).grid);
        const auto kept = vtk::Cut(mesh, 3).part(part);
        one = vtkPolyData::SafeDownCast(kept.grid);
        n["verts"] += one->GetNumberOfVerts();
        n["lines"] += one->GetNumberOfLines();
        n["polys"] += one->GetNumberOfPolys();
    }
    EXPECT_EQ(n["verts"], 1);
    EXPECT_EQ(n["lines"], 2);
    EXPECT_EQ(n["polys"], 2);
    EXPECT_EQ(cut_all(mesh, 3).cells.size(), 5u);
}

TEST(Bisect, DealsEveryRowOnceAndEvenly) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> any(-1, 1);
    for (const int64_t n : {0, 1, 2, 7, 100, 1001})
        for (const int n_parts : {1, 2, 3, 5, 8, 13}) {
            std::vector<double> x(static_cast<size_t>(3 * n));
            for (double& value : x) value = any(random);
            std::vector<int> count(static_cast<size_t>(n));
            for (int part = 0; part < n_parts; ++part) {
                const auto rows = vtk::bisect(x, n_parts).at(static_cast<size_t>(part));
                EXPECT_GE(static_cast<int64_t>(rows.size()), n / n_parts);
                EXPECT_LE(static_cast<int64_t>(rows.size()), (n + n_parts - 1) / n_parts);
                EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
                for (const int64_t row : rows) ++count.at(static_cast<size_t>(row));
            }
            EXPECT_EQ(std::count(count.begin(), count.end(), 1), n);
        }
}

// Comparing with what is not a number would break the order that the algorithm needs.
TEST(Bisect, EqualInfiniteAndNoNumbersAreDealtToo) {
    const std::vector<double> values = {nan, 1, infinite, -infinite, 1,     nan,
                                        1,   0, -0.0,     1e308,     -1e308};
    std::vector<double> x;
    for (int repeat = 0; repeat < 40; ++repeat)
        for (size_t i = 0; i < values.size(); ++i)
            x.insert(x.end(), {values[i], values[(i + 3) % values.size()], 5});
    const size_t n = x.size() / 3;
    std::vector<int> count(n);
    const auto parts = vtk::bisect(x, 7);
    ASSERT_EQ(parts.size(), 7U);
    for (const auto& part : parts)
        for (const int64_t row : part) ++count.at(static_cast<size_t>(row));
    EXPECT_EQ(std::count(count.begin(), count.end(), 1), static_cast<int64_t>(n));
}

}  // namespace
}  // namespace surrogate::test
