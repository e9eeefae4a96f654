// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkXMLPUnstructuredGridReader.h>
#include <vtkXMLUnstructuredGridReader.h>

#include "coupling/mesh/checked_file.hpp"
#include "coupling/mesh/checked_summary.hpp"

namespace surrogate::vtk {

/// Reader of unstructured grids that checks two arrays before VTK uses them: VTK follows the faces
/// of polyhedra and reorders the corners of old higher-order hexahedra without checking indices.
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

/// Reader of summaries of unstructured grids. VTK 9.1 appends face offsets of a piece to the
/// existing offsets even if the earlier pieces, or this piece, have no polyhedra; the offsets then
/// belong to other cells.
class CheckedGridSummary : public CheckedSummary<vtkXMLPUnstructuredGridReader, CheckedGrid> {
public:
    static CheckedGridSummary* New();

protected:
    int copy_piece() override;
};

}  // namespace surrogate::vtk
