// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/cut.hpp"

#include <vtkCellArray.h>
#include <vtkCellData.h>
#include <vtkCellType.h>
#include <vtkIdList.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkPolyData.h>
#include <vtkUnstructuredGrid.h>

#include <algorithm>
#include <array>
#include <span>

#include "coupling/mesh/bisect.hpp"

namespace surrogate::vtk {

namespace {

/// Returns the lists of cells of a mesh, in the order of its cell numbers.
std::vector<vtkCellArray*> lists_of(vtkDataSet* mesh) {
    if (auto* surface = vtkPolyData::SafeDownCast(mesh))
        return {surface->GetVerts(), surface->GetLines(), surface->GetPolys(),
                surface->GetStrips()};
    return {vtkUnstructuredGrid::SafeDownCast(mesh)->GetCells()};
}

/// Calls use(cell, corners) for every cell.
template <class Use>
void for_each_cell(vtkDataSet* mesh, const Use& use) {
    int64_t cell = 0;
    for (vtkCellArray* list : lists_of(mesh))
        for (vtkIdType i = 0; list != nullptr && i < list->GetNumberOfCells(); ++i, ++cell) {
            vtkIdType n = 0;
            const vtkIdType* corners = nullptr;
            list->GetCellAtId(i, n, corners);
            use(cell, std::span(corners, static_cast<size_t>(n)));
        }
}

/// Returns the means of the corners, [cells][3]; 0 for a cell without corners.
std::vector<double> centers_of(vtkDataSet* mesh) {
    std::vector<double> centers(3 * static_cast<size_t>(mesh->GetNumberOfCells()));
    for_each_cell(mesh, [&](int64_t cell, std::span<const vtkIdType> corners) {
        double* center = centers.data() + 3 * cell;
        for (const vtkIdType corner : corners) {
            double x[3];
            mesh->GetPoint(corner, x);
            for (int axis = 0; axis < 3; ++axis)
                center[axis] += x[axis] / static_cast<double>(corners.size());
        }
    });
    return centers;
}

/// Calls use(corners) for each of the given cells, which are ascending.
template <class Use>
void for_cells(vtkDataSet* mesh, const std::vector<int64_t>& cells, const Use& use) {
    auto next = cells.begin();
    int64_t first = 0;
    for (vtkCellArray* list : lists_of(mesh)) {
        const int64_t end = first + (list == nullptr ? 0 : list->GetNumberOfCells());
        for (; next != cells.end() && *next < end; ++next) {
            vtkIdType n = 0;
            const vtkIdType* corners = nullptr;
            list->GetCellAtId(*next - first, n, corners);
            use(std::span(corners, static_cast<size_t>(n)));
        }
        first = end;
    }
}

/// Returns the points that no cell uses, ascending.
std::vector<int64_t> lone_points_of(vtkDataSet* mesh) {
    std::vector<char> has_cell(static_cast<size_t>(mesh->GetNumberOfPoints()));
    for_each_cell(mesh, [&](int64_t, std::span<const vtkIdType> corners) {
        for (const vtkIdType corner : corners) has_cell[static_cast<size_t>(corner)] = 1;
    });
    std::vector<int64_t> lone;
    for (size_t i = 0; i < has_cell.size(); ++i)
        if (!has_cell[i]) lone.push_back(static_cast<int64_t>(i));
    return lone;
}

std::vector<std::vector<int64_t>> deal_lone_points(vtkDataSet* mesh, int n_parts) {
    const std::vector<int64_t> lone = lone_points_of(mesh);
    std::vector<double> x(3 * lone.size());
    for (size_t i = 0; i < lone.size(); ++i) mesh->GetPoint(lone[i], x.data() + 3 * i);
    auto parts = bisect(x, n_parts);
    for (auto& rows : parts)
        for (int64_t& row : rows) row = lone[static_cast<size_t>(row)];
    return parts;
}

void copy_rows(vtkDataSetAttributes* from, vtkDataSetAttributes* to,
               const std::vector<int64_t>& rows) {
    vtkNew<vtkIdList> source, target;
    const auto n = static_cast<vtkIdType>(rows.size());
    source->SetNumberOfIds(n);
    target->SetNumberOfIds(n);
    for (vtkIdType i = 0; i < n; ++i) {
        source->SetId(i, rows[static_cast<size_t>(i)]);
        target->SetId(i, i);
    }
    to->CopyAllOn();  // includes global ids
    to->CopyAllocate(from, n);
    to->CopyData(from, source, target);
    for (int i = 0; i < to->GetNumberOfArrays(); ++i) to->GetAbstractArray(i)->SetNumberOfTuples(n);
}

vtkSmartPointer<vtkPoints> copy_points(vtkPointSet* whole, const std::vector<int64_t>& rows) {
    auto points = vtkSmartPointer<vtkPoints>::New();
    points->SetDataType(whole->GetPoints() ? whole->GetPoints()->GetDataType() : VTK_DOUBLE);
    points->SetNumberOfPoints(static_cast<vtkIdType>(rows.size()));
    for (size_t i = 0; i < rows.size(); ++i)
        points->SetPoint(static_cast<vtkIdType>(i), whole->GetPoint(rows[i]));
    return points;
}

/// Replaces corner numbers of the whole mesh by corner numbers of the part. A polyhedron lists its
/// faces instead, each as its number of corners and the corners.
void renumber(vtkIdList* ids, bool is_faces, const std::vector<int64_t>& part_of_whole) {
    const auto part = [&](vtkIdType id) { return part_of_whole[static_cast<size_t>(id)]; };
    if (!is_faces) {
        for (vtkIdType k = 0; k < ids->GetNumberOfIds(); ++k) ids->SetId(k, part(ids->GetId(k)));
        return;
    }
    for (vtkIdType k = 1; k < ids->GetNumberOfIds();) {  // ids[0]: number of faces
        const vtkIdType end = k + 1 + ids->GetId(k);
        for (++k; k < end; ++k) ids->SetId(k, part(ids->GetId(k)));
    }
}

void copy_cells(vtkUnstructuredGrid* whole, const std::vector<int64_t>& cells,
                const std::vector<int64_t>& part_of_whole, vtkUnstructuredGrid* part) {
    part->Allocate(static_cast<vtkIdType>(cells.size()));
    vtkNew<vtkIdList> ids;
    for (const int64_t cell : cells) {
        const int type = whole->GetCellType(cell);
        if (type == VTK_POLYHEDRON)
            whole->GetFaceStream(cell, ids);
        else
            whole->GetCellPoints(cell, ids);
        renumber(ids, type == VTK_POLYHEDRON, part_of_whole);
        part->InsertNextCell(type, ids);
    }
}

/// Copies each cell into the list that it came from, independent of its number of corners.
void copy_cells(vtkPolyData* whole, const std::vector<int64_t>& cells,
                const std::vector<int64_t>& part_of_whole, vtkPolyData* part) {
    std::array<vtkSmartPointer<vtkCellArray>, 4> lists;
    vtkNew<vtkIdList> ids;
    auto next = cells.begin();
    int64_t first = 0;
    for (size_t k = 0; k < lists.size(); ++k) {
        lists[k] = vtkSmartPointer<vtkCellArray>::New();
        vtkCellArray* from = lists_of(whole)[k];
        const int64_t end = first + (from == nullptr ? 0 : from->GetNumberOfCells());
        for (; next != cells.end() && *next < end; ++next) {
            from->GetCellAtId(*next - first, ids);
            renumber(ids, false, part_of_whole);
            lists[k]->InsertNextCell(ids);
        }
        first = end;
    }
    part->SetVerts(lists[0]);
    part->SetLines(lists[1]);
    part->SetPolys(lists[2]);
    part->SetStrips(lists[3]);
}

}  // namespace

Cut::Cut(vtkDataSet* whole, int n_parts)
    : whole_(whole),
      cells_(bisect(centers_of(whole), n_parts)),
      lone_points_(deal_lone_points(whole, n_parts)),
      part_of_whole_(static_cast<size_t>(whole->GetNumberOfPoints()), -1) {}

/// Returns the points of the part's cells and its part of the points without cells, ascending.
std::vector<int64_t> Cut::points_of(int number) {
    const auto part = static_cast<size_t>(number);
    std::vector<int64_t> rows = lone_points_[part];
    for_cells(whole_, cells_[part], [&](std::span<const vtkIdType> corners) {
        for (const vtkIdType corner : corners) {
            int64_t& mark = part_of_whole_[static_cast<size_t>(corner)];
            if (mark < 0) rows.push_back(corner);
            mark = 0;
        }
    });
    std::sort(rows.begin(), rows.end());
    for (size_t i = 0; i < rows.size(); ++i)
        part_of_whole_[static_cast<size_t>(rows[i])] = static_cast<int64_t>(i);
    return rows;
}

template <class Grid>
Part Cut::part_as(Grid* whole, int number) {
    Part result;
    result.cell_rows = cells_[static_cast<size_t>(number)];
    result.point_rows = points_of(number);
    auto grid = vtkSmartPointer<Grid>::New();
    grid->SetPoints(copy_points(whole, result.point_rows));
    copy_cells(whole, result.cell_rows, part_of_whole_, grid.Get());
    copy_rows(whole->GetPointData(), grid->GetPointData(), result.point_rows);
    copy_rows(whole->GetCellData(), grid->GetCellData(), result.cell_rows);
    grid->SetFieldData(whole->GetFieldData());
    for (const int64_t row : result.point_rows) part_of_whole_[static_cast<size_t>(row)] = -1;
    result.grid = grid;
    return result;
}

Part Cut::part(int number) {
    if (auto* surface = vtkPolyData::SafeDownCast(whole_)) return part_as(surface, number);
    return part_as(vtkUnstructuredGrid::SafeDownCast(whole_), number);
}

}  // namespace surrogate::vtk
