// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkXMLPUnstructuredGridReader.h>
#include <vtkXMLUnstructuredGridReader.h>

#include "coupling/mesh/checked_file.hpp"
#include "coupling/mesh/checked_summary.hpp"

namespace surrogate::vtk {

/// VTK follows the faces of polyhedra, and turns the corners of old hexahedra of higher order,
/// without looking at numbers; so these are read and looked at first.
class CheckedGrid : public CheckedFile<vtkXMLUnstructuredGridReader> {
public:
    static CheckedGrid* New();

protected:
    int ReadPieceData() override;

private:
    vtkSmartPointer<vtkDataArray> read(vtkXMLDataElement* list, const char* name, vtkIdType n);
    void check_faces(vtkIdType n_cells);
    void check_orders(vtkIdType n_cells);
};

/// VTK 9.1 appends the places of a piece's faces to those it has, also where the pieces before, or
/// this one, have no polyhedra: then they are places of other cells.
class CheckedGridSummary : public CheckedSummary<vtkXMLPUnstructuredGridReader, CheckedGrid> {
public:
    static CheckedGridSummary* New();

protected:
    int copy_piece() override;
};

}  // namespace surrogate::vtk
