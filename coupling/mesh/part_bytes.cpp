// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/part_bytes.hpp"

#include <vtkNew.h>
#include <vtkPolyData.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLPolyDataReader.h>
#include <vtkXMLPolyDataWriter.h>
#include <vtkXMLUnstructuredGridReader.h>
#include <vtkXMLUnstructuredGridWriter.h>

#include <cstring>

#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

/// Trailing data, serialized after the mesh and the numbers of its rows, so that it needs no copy.
struct Tail {
    int64_t n_points, n_cells;
    int64_t is_surface;
};

void append(const std::vector<int64_t>& rows, std::string& bytes) {
    bytes.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(int64_t));
}

size_t take(const std::string& bytes, size_t at, int64_t n, std::vector<int64_t>& rows) {
    rows.resize(static_cast<size_t>(n));
    const size_t n_byte = rows.size() * sizeof(int64_t);
    if (n > 0) std::memcpy(rows.data(), bytes.data() + at, n_byte);
    return at + n_byte;
}

template <class Writer>
std::string written(vtkDataSet* grid) {
    const vtkNew<Writer> writer;
    writer->SetInputData(grid);
    writer->SetDataModeToAppended();
    writer->EncodeAppendedDataOff();
    writer->SetCompressorTypeToNone();
    writer->SetHeaderTypeToUInt64();
    writer->WriteToOutputStringOn();
    if (writer->Write() == 0) throw Error(SURROGATE_INTERNAL, "VTK wrote no part of the mesh");
    return writer->GetOutputString();
}

/// VTK reads up to the end of its appended data and ignores the rest.
template <class Reader>
vtkSmartPointer<vtkDataSet> read(const std::string& bytes) {
    const vtkNew<Reader> reader;
    reader->ReadFromInputStringOn();
    reader->SetInputString(bytes);
    reader->Update();
    vtkSmartPointer<vtkDataSet> grid = reader->GetOutputAsDataSet();
    return grid;
}

}  // namespace

std::string packed(const Part& part) {
    const bool is_surface = vtkPolyData::SafeDownCast(part.grid) != nullptr;
    std::string bytes = is_surface ? written<vtkXMLPolyDataWriter>(part.grid)
                                   : written<vtkXMLUnstructuredGridWriter>(part.grid);
    const Tail tail = {static_cast<int64_t>(part.point_rows.size()),
                       static_cast<int64_t>(part.cell_rows.size()), is_surface ? 1 : 0};
    append(part.point_rows, bytes);
    append(part.cell_rows, bytes);
    bytes.append(reinterpret_cast<const char*>(&tail), sizeof tail);
    return bytes;
}

Part unpacked(const std::string& bytes) {
    Tail tail;
    std::memcpy(&tail, bytes.data() + bytes.size() - sizeof tail, sizeof tail);
    const auto n_rows = static_cast<size_t>(tail.n_points + tail.n_cells);
    Part part;
    const size_t at = bytes.size() - sizeof tail - n_rows * sizeof(int64_t);
    take(bytes, take(bytes, at, tail.n_points, part.point_rows), tail.n_cells, part.cell_rows);
    part.grid = tail.is_surface ? read<vtkXMLPolyDataReader>(bytes)
                                : read<vtkXMLUnstructuredGridReader>(bytes);
    if (part.grid == nullptr || part.grid->GetNumberOfPoints() != tail.n_points ||
        part.grid->GetNumberOfCells() != tail.n_cells)
        throw Error(SURROGATE_INTERNAL, "a part of the mesh did not arrive as it was sent");
    return part;
}

}  // namespace surrogate::vtk
