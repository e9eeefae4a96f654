// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/checked_grid.hpp"

#include <vtkIdTypeArray.h>
#include <vtkUnstructuredGrid.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace surrogate::vtk {

namespace {

/// Converts a value as VTK converts it to its ids.
vtkIdType id_in(vtkDataArray* array, vtkIdType row) {
    const double value = array->GetComponent(row, 0);
    constexpr double most = 9e18;
    if (std::isnan(value)) return -1;
    return static_cast<vtkIdType>(std::clamp(value, -most, most));
}

}  // namespace

CheckedGrid* CheckedGrid::New() {
    auto* reader = new CheckedGrid;
    reader->InitializeObjectBase();
    return reader;
}

int CheckedGrid::ReadPieceData() {
    const vtkIdType n_cells = NumberOfCells[Piece];
    if (CellElements[Piece] != nullptr && n_cells > 0) {
        check_faces(n_cells);
        check_orders(n_cells);
    }
    return vtkXMLUnstructuredGridReader::ReadPieceData();
}

/// Returns null if there is no array of this name.
vtkSmartPointer<vtkDataArray> CheckedGrid::read(vtkXMLDataElement* list, const char* name,
                                                vtkIdType n) {
    vtkXMLDataElement* element = list == nullptr ? nullptr : FindDataArrayWithName(list, name);
    if (element == nullptr) return nullptr;
    const auto made = vtkSmartPointer<vtkAbstractArray>::Take(CreateArray(element));
    vtkSmartPointer<vtkDataArray> array = vtkDataArray::SafeDownCast(made);
    if (array == nullptr) fail("array '" + std::string(name) + "' holds no numbers");
    if (n > parser()->head().room())
        fail("array '" + std::string(name) + "' has " + std::to_string(n) +
             " values, which the file cannot hold");
    array->SetNumberOfTuples(n);
    ReadArrayValues(element, 0, array, 0, n * array->GetNumberOfComponents());
    return array;
}

void CheckedGrid::check_faces(vtkIdType n_cells) {
    if (FindDataArrayWithName(CellElements[Piece], "faces") == nullptr) return;
    const auto ends = read(CellElements[Piece], "faceoffsets", n_cells);
    if (ends == nullptr) return;
    vtkIdType length = -1;  // the last value that is not negative, which VTK uses
    for (vtkIdType cell = n_cells; cell-- > 0 && length < 0;) length = id_in(ends, cell);
    if (length <= 0) return;  // VTK reads no faces
    const auto values = read(CellElements[Piece], "faces", length);
    std::vector<vtkIdType> stream(static_cast<size_t>(values->GetNumberOfTuples()));
    for (size_t i = 0; i < stream.size(); ++i) stream[i] = id_in(values, vtkIdType(i));
    vtkIdType at = 0;
    for (vtkIdType cell = 0; cell < n_cells; ++cell) {
        if (id_in(ends, cell) < 0) continue;
        const FaceStream faces = read_faces(stream, at, NumberOfPoints[Piece]);
        if (!faces.problem.empty()) fail("cell " + std::to_string(cell) + " " + faces.problem);
        at = faces.end;
    }
}

void CheckedGrid::check_orders(vtkIdType n_cells) {
    const auto types = read(CellElements[Piece], "types", n_cells);
    bool has_any = false;
    for (vtkIdType cell = 0; types != nullptr && cell < n_cells; ++cell)
        has_any |= has_order(static_cast<int>(id_in(types, cell) & 255));
    if (!has_any) return;
    const auto ends = read(CellElements[Piece], "offsets", n_cells);
    const auto degrees = read(CellDataElements[Piece], "HigherOrderDegrees", n_cells);
    vtkIdType begin = 0;
    for (vtkIdType cell = 0; ends != nullptr && cell < n_cells; ++cell) {
        const int type = static_cast<int>(id_in(types, cell) & 255);
        const vtkIdType n_corners = std::max<vtkIdType>(begin, id_in(ends, cell)) - begin;
        if (has_order(type)) {
            const std::string problem = order_problem(type, n_corners, degrees, cell);
            if (!problem.empty()) fail("cell " + std::to_string(cell) + " " + problem);
        }
        begin += n_corners;
    }
}

CheckedGridSummary* CheckedGridSummary::New() {
    auto* reader = new CheckedGridSummary;
    reader->InitializeObjectBase();
    return reader;
}

int CheckedGridSummary::copy_piece() {
    auto* mesh = vtkUnstructuredGrid::SafeDownCast(GetCurrentOutput());
    auto* piece = vtkUnstructuredGrid::SafeDownCast(GetPieceInputAsDataSet(Piece));
    if (piece->GetFaces() != nullptr && mesh->GetFaces() == nullptr)
        mesh->InitializeFacesRepresentation(StartCell);
    const int is_fine = vtkXMLPUnstructuredGridReader::ReadPieceData();
    if (vtkIdTypeArray* places = mesh->GetFaceLocations())
        while (places->GetNumberOfValues() < StartCell + piece->GetNumberOfCells())
            places->InsertNextValue(-1);
    return is_fine;
}

}  // namespace surrogate::vtk
