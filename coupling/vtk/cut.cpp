// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/cut.hpp"

#include <vtkCellData.h>
#include <vtkCellType.h>
#include <vtkIdList.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkPolyData.h>
#include <vtkUnstructuredGrid.h>

#include <numeric>

namespace surrogate::vtk {

namespace {

/// Points without a cell, then the points of the cells, both of this part; ascending.
std::vector<int64_t> points_of(vtkDataSet* whole, int64_t first_cell, int64_t end_cell, int part,
                               int n_parts) {
    const int64_t n_points = whole->GetNumberOfPoints();
    std::vector<char> has_cell(static_cast<size_t>(n_points)), is_ours(has_cell.size());
    vtkNew<vtkIdList> ids;
    for (int64_t cell = 0; cell < whole->GetNumberOfCells(); ++cell) {
        whole->GetCellPoints(cell, ids);
        for (vtkIdType k = 0; k < ids->GetNumberOfIds(); ++k) {
            const auto point = static_cast<size_t>(ids->GetId(k));
            has_cell[point] = 1;
            if (cell >= first_cell && cell < end_cell) is_ours[point] = 1;
        }
    }
    std::vector<int64_t> alone, rows;
    for (int64_t i = 0; i < n_points; ++i)
        if (!has_cell[static_cast<size_t>(i)]) alone.push_back(i);
    const auto n_alone = static_cast<int64_t>(alone.size());
    for (int64_t k = range_begin(n_alone, part, n_parts);
         k < range_begin(n_alone, part + 1, n_parts); ++k)
        is_ours[static_cast<size_t>(alone[static_cast<size_t>(k)])] = 1;
    for (int64_t i = 0; i < n_points; ++i)
        if (is_ours[static_cast<size_t>(i)]) rows.push_back(i);
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

/// Vertices, lines, polygons and strips stand in this order in every polydata, so a range of cells
/// keeps its order.
void copy_cells(vtkPolyData* whole, const std::vector<int64_t>& cells,
                const std::vector<int64_t>& part_of_whole, vtkPolyData* part) {
    part->AllocateEstimate(static_cast<vtkIdType>(cells.size()), 4);
    vtkNew<vtkIdList> ids;
    for (const int64_t cell : cells) {
        whole->GetCellPoints(cell, ids);
        renumber(ids, false, part_of_whole);
        part->InsertNextCell(whole->GetCellType(cell), ids);
    }
}

template <class Grid>
Part cut_as(Grid* whole, int part, int n_parts) {
    const int64_t n_cells = whole->GetNumberOfCells();
    const int64_t first = range_begin(n_cells, part, n_parts);
    const int64_t end = range_begin(n_cells, part + 1, n_parts);
    Part result;
    result.cell_rows.resize(static_cast<size_t>(end - first));
    std::iota(result.cell_rows.begin(), result.cell_rows.end(), first);
    result.point_rows = points_of(whole, first, end, part, n_parts);
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

int64_t range_begin(int64_t n, int part, int n_parts) {
    return n / n_parts * part + n % n_parts * part / n_parts;
}

Part cut(vtkDataSet* whole, int part, int n_parts) {
    if (auto* surface = vtkPolyData::SafeDownCast(whole)) {
        if (surface->NeedToBuildCells()) surface->BuildCells();
        return cut_as(surface, part, n_parts);
    }
    return cut_as(vtkUnstructuredGrid::SafeDownCast(whole), part, n_parts);
}

}  // namespace surrogate::vtk
