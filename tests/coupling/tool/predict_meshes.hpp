// SPDX-License-Identifier: Apache-2.0
#pragma once

// The same square of quadrangles with the same field in every format and cut that `surrogate
// predict` reads.

#include <vtkCellData.h>
#include <vtkDataSetAttributes.h>
#include <vtkDoubleArray.h>
#include <vtkFloatArray.h>
#include <vtkIdTypeArray.h>
#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkPolyData.h>
#include <vtkStructuredGrid.h>
#include <vtkUnsignedCharArray.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLImageDataWriter.h>
#include <vtkXMLPolyDataWriter.h>
#include <vtkXMLStructuredGridWriter.h>
#include <vtkXMLUnstructuredGridWriter.h>

#include <cmath>
#include <string>
#include <vector>

#include "coupling/vtk/arrays.hpp"
#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/summary.hpp"

namespace surrogate::test {

constexpr int n_x = 13, n_y = 9;  ///< cells; a number of points that no number of ranks divides
constexpr int n_points = (n_x + 1) * (n_y + 1);
constexpr int n_cells = n_x * n_y;

/// Within the range of the card of darcy_flow.safetensors, and smooth.
inline double mobility(double x, double y) {
    return 7.5 + 4.0 * std::sin(5.0 * x + 1.0) * std::cos(4.0 * y);
}

/// Point i + (n_x + 1) j of the square, z = 0.
inline std::array<double, 3> point(int i, int j) {
    return {double(i) / n_x, double(j) / n_y, 0.0};
}

/// Points of the cells i_first <= i < i_end, all j, in the order of the whole square.
struct Strip {
    int i_first = 0, i_end = n_x;
    int n_i() const { return i_end - i_first + 1; }
    int local(int i, int j) const { return i - i_first + n_i() * j; }
};

template <class Array>
vtkSmartPointer<Array> named(const char* name) {
    auto array = vtkSmartPointer<Array>::New();
    array->SetName(name);
    return array;
}

enum class Ids { none, global };

/// Fields "mobility" (Array: float or double) and the point's number at points and cells; cells of
/// a strip of quadrangles. Cells outside [own_first, own_end) are marked as ghosts, with their
/// points.
template <class Array>
void add_arrays(vtkDataSet* grid, const Strip& strip, Ids ids, int own_first, int own_end) {
    auto at_points = named<Array>("mobility"), at_cells = named<Array>("mobility");
    auto point_ids = named<vtkIdTypeArray>("GlobalPointIds");
    auto cell_ids = named<vtkIdTypeArray>("GlobalCellIds");
    auto point_ghosts = named<vtkUnsignedCharArray>(vtkDataSetAttributes::GhostArrayName());
    auto cell_ghosts = named<vtkUnsignedCharArray>(vtkDataSetAttributes::GhostArrayName());
    for (int j = 0; j <= n_y; ++j)
        for (int i = strip.i_first; i <= strip.i_end; ++i) {
            const auto x = point(i, j);
            using Value = typename Array::ValueType;
            at_points->InsertNextValue(static_cast<Value>(mobility(x[0], x[1])));
            point_ids->InsertNextValue(1000 + i + (n_x + 1) * j);
            point_ghosts->InsertNextValue(i >= own_first && i <= own_end ? 0 : 1);
            if (i == strip.i_end || j == n_y) continue;
            at_cells->InsertNextValue(
                static_cast<Value>(mobility((i + 0.5) / n_x, (j + 0.5) / n_y)));
            cell_ids->InsertNextValue(i + n_x * j);
            cell_ghosts->InsertNextValue(i >= own_first && i < own_end ? 0 : 1);
        }
    grid->GetPointData()->AddArray(at_points);
    grid->GetCellData()->AddArray(at_cells);
    if (ids == Ids::global) {
        grid->GetPointData()->SetGlobalIds(point_ids);
        grid->GetCellData()->SetGlobalIds(cell_ids);
    }
    if (own_first > strip.i_first || own_end < strip.i_end) {
        grid->GetPointData()->AddArray(point_ghosts);
        grid->GetCellData()->AddArray(cell_ghosts);
    }
}

/// Grid: vtkUnstructuredGrid or vtkPolyData.
template <class Grid, class Array = vtkDoubleArray>
vtkSmartPointer<Grid> make_quads(const Strip& strip, Ids ids = Ids::none, int own_first = 0,
                                 int own_end = n_x) {
    auto grid = vtkSmartPointer<Grid>::New();
    vtkNew<vtkPoints> points;
    points->SetDataTypeToDouble();
    for (int j = 0; j <= n_y; ++j)
        for (int i = strip.i_first; i <= strip.i_end; ++i)
            points->InsertNextPoint(point(i, j).data());
    grid->SetPoints(points);
    grid->AllocateEstimate(n_cells, 4);
    for (int j = 0; j < n_y; ++j)
        for (int i = strip.i_first; i < strip.i_end; ++i) {
            const vtkIdType corners[] = {strip.local(i, j), strip.local(i + 1, j),
                                         strip.local(i + 1, j + 1), strip.local(i, j + 1)};
            grid->InsertNextCell(VTK_QUAD, 4, corners);
        }
    add_arrays<Array>(grid, strip, ids, std::max(own_first, strip.i_first),
                      std::min(own_end, strip.i_end));
    return grid;
}

inline vtkSmartPointer<vtkImageData> make_image(const Strip& strip) {
    auto image = vtkSmartPointer<vtkImageData>::New();
    image->SetExtent(strip.i_first, strip.i_end, 0, n_y, 0, 0);
    image->SetSpacing(1.0 / n_x, 1.0 / n_y, 1.0);
    add_arrays<vtkDoubleArray>(image, strip, Ids::none, strip.i_first, strip.i_end);
    return image;
}

inline vtkSmartPointer<vtkStructuredGrid> make_structured(const Strip& strip) {
    auto grid = vtkSmartPointer<vtkStructuredGrid>::New();
    vtkNew<vtkPoints> points;
    points->SetDataTypeToDouble();
    for (int j = 0; j <= n_y; ++j)
        for (int i = strip.i_first; i <= strip.i_end; ++i)
            points->InsertNextPoint(point(i, j).data());
    grid->SetExtent(strip.i_first, strip.i_end, 0, n_y, 0, 0);
    grid->SetPoints(points);
    add_arrays<vtkDoubleArray>(grid, strip, Ids::none, strip.i_first, strip.i_end);
    return grid;
}

template <class Writer>
void write_grid(vtkDataSet* grid, const std::string& path) {
    vtkNew<Writer> writer;
    writer->SetInputData(grid);
    vtk::write_file(writer, path, vtk::Compression::none);
}

inline vtk::SummaryInfo summary_of(vtkDataSet* grid, vtk::GridKind kind) {
    vtk::SummaryInfo info;
    info.kind = kind;
    info.point_arrays = vtk::arrays_of(grid, SURROGATE_POINT);
    info.cell_arrays = vtk::arrays_of(grid, SURROGATE_CELL);
    info.whole_extent = {0, n_x, 0, n_y, 0, 0};
    info.spacing = {1.0 / n_x, 1.0 / n_y, 1.0};
    return info;
}

/// "<stem>.p<extension>" of strips that end at the given columns; `overlap` columns of ghosts on
/// either side.
template <class Writer, class Make>
void write_strips(const std::string& stem, vtk::GridKind kind, const std::vector<int>& ends,
                  int overlap, Make&& make) {
    const std::string extension = vtk::extension_of(kind);
    vtk::SummaryInfo info;
    int first = 0;
    for (const int end : ends) {
        const Strip strip{std::max(0, first - overlap), std::min(n_x, end + overlap)};
        const auto grid = make(strip, first, end);
        const std::string file = stem + "_" + std::to_string(first) + "." + extension;
        write_grid<Writer>(grid, file);
        if (first == 0) info = summary_of(grid, kind);
        info.pieces.push_back({file.substr(vtk::directory_of(file).size()),
                               {strip.i_first, strip.i_end, 0, n_y, 0, 0}});
        first = end;
    }
    vtk::write_atomically(stem + ".p" + extension, vtk::summary_text(info));
}

/// All meshes of the tests, in one folder.
inline void write_meshes(const std::string& folder) {
    using vtk::GridKind;
    using Quads = vtkUnstructuredGrid;
    using QuadWriter = vtkXMLUnstructuredGridWriter;
    const Strip whole;
    write_grid<QuadWriter>(make_quads<Quads>(whole), folder + "/serial.vtu");
    write_grid<QuadWriter>(make_quads<Quads, vtkFloatArray>(whole), folder + "/float.vtu");
    write_grid<QuadWriter>(make_quads<Quads>(whole, Ids::global), folder + "/ids.vtu");
    write_grid<vtkXMLPolyDataWriter>(make_quads<vtkPolyData>(whole), folder + "/serial.vtp");
    write_grid<vtkXMLImageDataWriter>(make_image(whole), folder + "/serial.vti");
    write_grid<vtkXMLStructuredGridWriter>(make_structured(whole), folder + "/serial.vts");

    const auto plain = [](const Strip& strip, int, int) { return make_quads<Quads>(strip); };
    const auto with_ids = [](const Strip& strip, int first, int end) {
        return make_quads<Quads>(strip, Ids::global, first, end);
    };
    const auto with_ghosts = [](const Strip& strip, int first, int end) {
        return make_quads<Quads>(strip, Ids::none, first, end);
    };
    write_strips<QuadWriter>(folder + "/two", GridKind::mesh, {6, n_x}, 0, plain);
    write_strips<QuadWriter>(folder + "/five", GridKind::mesh, {1, 2, 7, 11, n_x}, 0, plain);
    write_strips<QuadWriter>(folder + "/ghosts", GridKind::mesh, {4, 9, n_x}, 1, with_ghosts);
    write_strips<QuadWriter>(folder + "/ghosts_ids", GridKind::mesh, {4, 9, n_x}, 2, with_ids);
    write_strips<vtkXMLPolyDataWriter>(
        folder + "/three", GridKind::surface, {4, 9, n_x}, 0,
        [](const Strip& strip, int, int) { return make_quads<vtkPolyData>(strip); });
    write_strips<vtkXMLImageDataWriter>(
        folder + "/blocks", GridKind::image, {4, 9, n_x}, 0,
        [](const Strip& strip, int, int) { return make_image(strip); });
    write_strips<vtkXMLStructuredGridWriter>(
        folder + "/strips", GridKind::structured, {4, 9, n_x}, 0,
        [](const Strip& strip, int, int) { return make_structured(strip); });
}

}  // namespace surrogate::test
