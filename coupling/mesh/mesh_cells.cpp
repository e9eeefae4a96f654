// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/mesh_cells.hpp"

#include <vtkCell.h>
#include <vtkCellArray.h>
#include <vtkCellType.h>
#include <vtkDataArray.h>
#include <vtkGenericCell.h>
#include <vtkIdTypeArray.h>
#include <vtkPolyData.h>
#include <vtkSmartPointer.h>
#include <vtkUnsignedCharArray.h>
#include <vtkUnstructuredGrid.h>

#include <algorithm>
#include <array>

#include "coupling/mesh/read_errors.hpp"
#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

constexpr int largest_order = 10;  // vtkLagrangeInterpolation has that many coefficients

constexpr int any = -1, unknown = -2;

bool has_any_corners(int type) {
    switch (type) {
        case VTK_EMPTY_CELL:
        case VTK_POLY_VERTEX:
        case VTK_POLY_LINE:
        case VTK_TRIANGLE_STRIP:
        case VTK_POLYGON:
        case VTK_QUADRATIC_POLYGON:
        case VTK_CONVEX_POINT_SET:
        case VTK_POLYHEDRON: return true;
        default: return has_order(type);
    }
}

/// Returns the number of corners of each type of cell in VTK.
const std::array<int, 256>& corners_of_types() {
    static const std::array<int, 256> corners = [] {
        std::array<int, 256> list{};
        for (int type = 0; type < 256; ++type) {
            const auto cell = vtkSmartPointer<vtkCell>::Take(vtkGenericCell::InstantiateCell(type));
            list[static_cast<size_t>(type)] = cell == nullptr         ? unknown
                                              : has_any_corners(type) ? any
                                                                      : cell->GetNumberOfPoints();
        }
        return list;
    }();
    return corners;
}

class Check {
public:
    Check(const std::string& path, vtkIdType n_points) : path_(path), n_points_(n_points) {}

    [[noreturn]] void fail(vtkIdType cell, const std::string& text) const {
        throw Error(SURROGATE_BAD_FILE, "cannot read the mesh '" + path_ + "': cell " +
                                            std::to_string(cell) + " " + text);
    }

    /// Checks corners. The first cell of the array is cell `first` of the mesh.
    void corners(vtkCellArray* cells, vtkIdType first) const {
        if (cells == nullptr || cells->GetNumberOfCells() == 0) return;
        if (cells->IsStorage64Bit())
            corners_of(cells->GetOffsetsArray64(), cells->GetConnectivityArray64(), first);
        else
            corners_of(cells->GetOffsetsArray32(), cells->GetConnectivityArray32(), first);
    }

    void types(vtkUnstructuredGrid* grid) const {
        const vtkIdType n_cells = grid->GetNumberOfCells();
        vtkUnsignedCharArray* types = grid->GetCellTypesArray();
        if (n_cells > 0 && (types == nullptr || types->GetNumberOfValues() != n_cells))
            fail(n_cells - 1, "has no type");
        for (vtkIdType cell = 0; cell < n_cells; ++cell) {
            const int type = types->GetValue(cell);
            const int wanted = corners_of_types()[static_cast<size_t>(type)];
            if (wanted == unknown)
                fail(cell, "has the type " + std::to_string(type) + ", which VTK does not support");
            const vtkIdType found = grid->GetCells()->GetCellSize(cell);
            if (wanted != any && found != wanted)
                fail(cell, "has the type " + std::to_string(type) + " of " +
                               std::to_string(wanted) + " corners and names " +
                               std::to_string(found) + " points");
            if (type == VTK_POLYHEDRON) faces(grid, cell);
        }
    }

private:
    template <class Array>
    void corners_of(Array* offsets, Array* corners, vtkIdType first) const {
        const vtkIdType n_cells = offsets->GetNumberOfValues() - 1;
        const vtkIdType n_corners = corners->GetNumberOfValues();
        const auto* end = offsets->GetPointer(0);
        const auto* point = corners->GetPointer(0);
        for (vtkIdType cell = 0; cell < n_cells; ++cell) {
            const vtkIdType from = end[cell], to = end[cell + 1];
            if (from < 0 || to < from || to > n_corners)
                fail(first + cell, "has the corners " + std::to_string(from) + " to " +
                                       std::to_string(to) + " of " + std::to_string(n_corners));
            for (vtkIdType k = from; k < to; ++k)
                if (point[k] < 0 || point[k] >= n_points_)
                    fail(first + cell, "names point " + std::to_string(point[k]) +
                                           ", the mesh has " + std::to_string(n_points_) +
                                           " points");
        }
    }

    void faces(vtkUnstructuredGrid* grid, vtkIdType cell) const {
        vtkIdTypeArray* begins = grid->GetFaceLocations();
        vtkIdTypeArray* stream = grid->GetFaces();
        const vtkIdType begin =
            begins != nullptr && stream != nullptr && cell < begins->GetNumberOfValues()
                ? begins->GetValue(cell)
                : -1;
        if (begin < 0) fail(cell, "is a polyhedron without faces");
        const auto length = static_cast<size_t>(stream->GetNumberOfValues());
        const FaceStream found = read_faces({stream->GetPointer(0), length}, begin, n_points_);
        if (!found.problem.empty()) fail(cell, found.problem);
    }

    std::string path_;
    vtkIdType n_points_;
};

}  // namespace

void check_cells(const std::string& path, vtkDataSet* mesh) {
    const Check check(path, mesh->GetNumberOfPoints());
    if (auto* grid = vtkUnstructuredGrid::SafeDownCast(mesh)) {
        check.corners(grid->GetCells(), 0);
        check.types(grid);
    }
    auto* surface = vtkPolyData::SafeDownCast(mesh);
    if (surface == nullptr) return;
    vtkIdType first = 0;  // the order of cell numbers in vtkPolyData
    for (vtkCellArray* cells :
         {surface->GetVerts(), surface->GetLines(), surface->GetPolys(), surface->GetStrips()}) {
        check.corners(cells, first);
        first += cells == nullptr ? 0 : cells->GetNumberOfCells();
    }
}

FaceStream read_faces(std::span<const vtkIdType> stream, vtkIdType begin, vtkIdType n_points) {
    const auto length = static_cast<vtkIdType>(stream.size());
    const auto value = [&](vtkIdType at) { return stream[static_cast<size_t>(at)]; };
    if (begin < 0 || begin >= length) return {begin, "has no faces in the list of faces"};
    const vtkIdType n_faces = value(begin);
    vtkIdType at = begin + 1;
    for (vtkIdType face = 0; face < n_faces; ++face) {
        const vtkIdType n_corners = at < length ? value(at) : -1;
        if (n_corners < 0 || n_corners >= length - at)
            return {at, "has " + std::to_string(n_faces) + " faces, of which face " +
                            std::to_string(face) + " is not in the list of faces"};
        for (const vtkIdType end = at + 1 + n_corners; ++at < end;)
            if (value(at) < 0 || value(at) >= n_points)
                return {at, "names point " + std::to_string(value(at)) +
                                " in a face, the mesh has " + std::to_string(n_points) + " points"};
    }
    return {at, n_faces > 0 ? "" : "has " + std::to_string(n_faces) + " faces"};
}

bool has_order(int type) {
    return type >= VTK_LAGRANGE_CURVE && type <= VTK_BEZIER_PYRAMID;
}

std::string order_problem(int type, vtkIdType n_corners, vtkDataArray* degrees, vtkIdType cell) {
    const auto corners = [type](vtkIdType a, vtkIdType b, vtkIdType c) -> vtkIdType {
        switch (type) {
            case VTK_LAGRANGE_CURVE:
            case VTK_BEZIER_CURVE: return a + 1;
            case VTK_LAGRANGE_TRIANGLE:
            case VTK_BEZIER_TRIANGLE: return (a + 1) * (a + 2) / 2;
            case VTK_LAGRANGE_QUADRILATERAL:
            case VTK_BEZIER_QUADRILATERAL: return (a + 1) * (b + 1);
            case VTK_LAGRANGE_TETRAHEDRON:
            case VTK_BEZIER_TETRAHEDRON: return (a + 1) * (a + 2) * (a + 3) / 6;
            case VTK_LAGRANGE_WEDGE:
            case VTK_BEZIER_WEDGE: return (a + 1) * (a + 2) / 2 * (c + 1);
            default: return (a + 1) * (b + 1) * (c + 1);
        }
    };
    const std::string found =
        "has the type " + std::to_string(type) + " and " + std::to_string(n_corners) + " corners";
    if (degrees != nullptr) {
        if (degrees->GetNumberOfComponents() != 3)
            return found + ", and HigherOrderDegrees does not have 3 components";
        std::array<vtkIdType, 3> order{};
        for (int axis = 0; axis < 3; ++axis) {
            const double degree = degrees->GetComponent(cell, axis);
            if (!(degree >= 0 && degree <= largest_order))
                return found + "; VTK evaluates orders up to " + std::to_string(largest_order);
            order[static_cast<size_t>(axis)] = static_cast<vtkIdType>(degree);
        }
        if (corners(order[0], order[1], order[2]) == n_corners) return "";
        return found + ", which differ from its HigherOrderDegrees";
    }
    const bool has_bubble = (corners(1, 1, 1) == 3 && n_corners == 7) ||
                            (corners(2, 2, 2) == 10 && n_corners == 15) ||
                            (corners(2, 2, 2) == 18 && n_corners == 21);
    for (vtkIdType k = 1; k <= largest_order; ++k)
        if (corners(k, k, k) == n_corners || has_bubble) return "";
    return found + ", which match no order up to " + std::to_string(largest_order);
}

}  // namespace surrogate::vtk
