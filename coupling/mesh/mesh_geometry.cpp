// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/mesh_geometry.hpp"

#include <surrogate/surrogate_vtk.h>
#include <vtkCellArray.h>
#include <vtkCellType.h>
#include <vtkGenericCell.h>
#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkPolyData.h>
#include <vtkUnstructuredGrid.h>

#include <algorithm>
#include <string>

#include "coupling/mesh/bisect.hpp"
#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

bool is_flat(const Extent& extent, int axis) {
    return extent[size_t(2 * axis)] == extent[size_t(2 * axis + 1)];
}

[[noreturn]] void fail_without_center(vtkIdType cell) {
    throw Error(SURROGATE_NOT_SUPPORTED,
                "cell " + std::to_string(cell) + " has too few points, hence no center");
}

/// Returns the number of corners below which VTK would read missing corners.
vtkIdType least_corners(int type) {
    switch (type) {
        case VTK_EMPTY_CELL: return VTK_ID_MAX;
        case VTK_POLY_LINE: return 2;
        case VTK_TRIANGLE_STRIP:
        case VTK_POLYGON: return 3;
        case VTK_QUADRATIC_POLYGON: return 6;
        default: return 1;
    }
}

/// Checks all cells: with one cell of too few points, VTK does not create the table of cells and
/// uses a null pointer.
void require_centers(vtkPolyData* surface) {
    vtkIdType first = 0;
    const auto require = [&](vtkCellArray* cells, vtkIdType least) {
        const vtkIdType n = cells == nullptr ? 0 : cells->GetNumberOfCells();
        for (vtkIdType i = 0; i < n; ++i)
            if (cells->GetCellSize(i) < least) fail_without_center(first + i);
        first += n;
    };
    require(surface->GetVerts(), 1);
    require(surface->GetLines(), 2);
    require(surface->GetPolys(), 3);
    require(surface->GetStrips(), 3);
}

void require_centers(vtkUnstructuredGrid* grid) {
    for (vtkIdType i = 0; i < grid->GetNumberOfCells(); ++i)
        if (grid->GetCells()->GetCellSize(i) < least_corners(grid->GetCellType(i)))
            fail_without_center(i);
}

}  // namespace

Extent slab(const Extent& whole, int rank, int size) {
    size_t longest = 0;
    const auto n_cells = [&](size_t axis) { return whole[2 * axis + 1] - whole[2 * axis]; };
    for (size_t axis = 1; axis < 3; ++axis)
        if (n_cells(axis) >= n_cells(longest)) longest = axis;  // the last one: contiguous memory
    return slab(whole, rank, size, static_cast<int>(longest));
}

Extent slab(const Extent& whole, int rank, int size, int axis) {
    const auto at = 2 * static_cast<size_t>(axis);
    const int n_cells = whole[at + 1] - whole[at];
    const Extent nothing = {0, -1, 0, -1, 0, -1};
    if (n_cells == 0) return rank == 0 ? whole : nothing;
    const int first = static_cast<int>(range_begin(n_cells, rank, size));
    const int end = static_cast<int>(range_begin(n_cells, rank + 1, size));
    if (first == end) return nothing;
    Extent own = whole;
    own[at + 1] = own[at] + end;
    own[at] += first;
    return own;
}

std::vector<int64_t> image_rows(const Extent& whole, const Extent& own, int location) {
    std::array<int64_t, 3> n{}, first{}, count{};
    for (size_t axis = 0; axis < 3; ++axis) {
        const bool counts_cells = location == SURROGATE_CELL && !is_flat(whole, int(axis));
        const int extra = counts_cells ? 0 : 1;
        n[axis] = whole[2 * axis + 1] - whole[2 * axis] + extra;
        first[axis] = own[2 * axis] - whole[2 * axis];
        count[axis] = std::max(0, own[2 * axis + 1] - own[2 * axis] + extra);
    }
    std::vector<int64_t> rows;
    for (int64_t k = 0; k < count[2]; ++k)
        for (int64_t j = 0; j < count[1]; ++j)
            for (int64_t i = 0; i < count[0]; ++i)
                rows.push_back(first[0] + i + n[0] * (first[1] + j + n[1] * (first[2] + k)));
    return rows;
}

std::vector<double> image_positions(vtkImageData* image, int location) {
    Extent extent;
    image->GetExtent(extent.data());
    std::array<double, 3> half{};
    std::array<int, 3> last{};
    for (size_t axis = 0; axis < 3; ++axis) {
        const bool is_between = location == SURROGATE_CELL && !is_flat(extent, int(axis));
        half[axis] = is_between ? 0.5 : 0.0;
        last[axis] = extent[2 * axis + 1] - (is_between ? 1 : 0);
    }
    std::vector<double> x;
    for (int k = extent[4]; k <= last[2]; ++k)
        for (int j = extent[2]; j <= last[1]; ++j)
            for (int i = extent[0]; i <= last[0]; ++i) {
                double at[3];
                image->TransformContinuousIndexToPhysicalPoint(i + half[0], j + half[1],
                                                               k + half[2], at);
                x.insert(x.end(), at, at + 3);
            }
    return x;
}

std::vector<double> point_positions(vtkDataSet* grid) {
    std::vector<double> x(3 * static_cast<size_t>(grid->GetNumberOfPoints()));
    for (vtkIdType i = 0; i < grid->GetNumberOfPoints(); ++i) grid->GetPoint(i, x.data() + 3 * i);
    return x;
}

std::vector<double> cell_positions(vtkDataSet* grid) {
    if (auto* surface = vtkPolyData::SafeDownCast(grid)) require_centers(surface);
    if (auto* mesh = vtkUnstructuredGrid::SafeDownCast(grid)) require_centers(mesh);
    std::vector<double> x(3 * static_cast<size_t>(grid->GetNumberOfCells()));
    std::vector<double> weights(static_cast<size_t>(std::max(1, grid->GetMaxCellSize())));
    vtkNew<vtkGenericCell> cell;
    for (vtkIdType i = 0; i < grid->GetNumberOfCells(); ++i) {
        grid->GetCell(i, cell);
        if (cell->GetNumberOfPoints() == 0) fail_without_center(i);  // a blanked cell
        double center[3];
        int part = cell->GetParametricCenter(center);
        cell->EvaluateLocation(part, center, x.data() + 3 * i, weights.data());
    }
    return x;
}

}  // namespace surrogate::vtk
