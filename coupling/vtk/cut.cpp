// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/cut.hpp"

#include <vtkCellArray.h>
#include <vtkCellData.h>
#include <vtkCellType.h>
#include <vtkIdList.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkPolyData.h>
#include <vtkUnstructuredGrid.h>

#include <array>
#include <span>

#include "coupling/vtk/bisect.hpp"

namespace surrogate::vtk {

namespace {

/// The lists of cells of a mesh, in the order in which it counts them.
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

/// [cells][3] means of the corners; 0 of a cell without corners.
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

/// Points of the cells of this part and its share of the points without cells; ascending.
std::vector<int64_t> points_of(vtkDataSet* mesh, const std::vector<int64_t>& cells, int part,
                               int n_parts) {
    const auto n_points = static_cast<size_t>(mesh->GetNumberOfPoints());
    std::vector<char> has_cell(n_points), is_ours(n_points);
    auto next = cells.begin();
    for_each_cell(mesh, [&](int64_t cell, std::span<const vtkIdType> corners) {
        const bool is_our_cell = next != cells.end() && *next == cell;
        if (is_our_cell) ++next;
        for (const vtkIdType corner : corners) {
            has_cell[static_cast<size_t>(corner)] = 1;
            if (is_our_cell) is_ours[static_cast<size_t>(corner)] = 1;
        }
    });
    std::vector<size_t> alone;
    std::vector<double> x;
    for (size_t i = 0; i < n_points; ++i) {
        if (has_cell[i]) continue;
        alone.push_back(i);
        x.resize(x.size() + 3);
        mesh->GetPoint(static_cast<vtkIdType>(i), x.data() + x.size() - 3);
    }
    for (const int64_t k : bisect(x, part, n_parts)) is_ours[alone[static_cast<size_t>(k)]] = 1;
    std::vector<int64_t> rows;
    for (size_t i = 0; i < n_points; ++i)
        if (is_ours[i]) rows.push_back(static_cast<int64_t>(i));
    return rows;
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
    to->CopyAllOn();  // global ids too
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

/// Corner numbers of the part in place of those of the whole. A polyhedron lists its faces instead,
/// each as its number of corners and the corners.
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

/// Each cell into the list it comes from, whatever its number of corners.
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

template <class Grid>
Part cut_as(Grid* whole, int part, int n_parts) {
    Part result;
    result.cell_rows = bisect(centers_of(whole), part, n_parts);
    result.point_rows = points_of(whole, result.cell_rows, part, n_parts);
    std::vector<int64_t> part_of_whole(static_cast<size_t>(whole->GetNumberOfPoints()));
    for (size_t i = 0; i < result.point_rows.size(); ++i)
        part_of_whole[static_cast<size_t>(result.point_rows[i])] = static_cast<int64_t>(i);

    auto grid = vtkSmartPointer<Grid>::New();
    grid->SetPoints(copy_points(whole, result.point_rows));
    copy_cells(whole, result.cell_rows, part_of_whole, grid.Get());
    copy_rows(whole->GetPointData(), grid->GetPointData(), result.point_rows);
    copy_rows(whole->GetCellData(), grid->GetCellData(), result.cell_rows);
    grid->SetFieldData(whole->GetFieldData());
    result.grid = grid;
    return result;
}

}  // namespace

Part cut(vtkDataSet* whole, int part, int n_parts) {
    if (auto* surface = vtkPolyData::SafeDownCast(whole)) return cut_as(surface, part, n_parts);
    return cut_as(vtkUnstructuredGrid::SafeDownCast(whole), part, n_parts);
}

}  // namespace surrogate::vtk
