// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkType.h>

#include <span>
#include <string>

class vtkDataArray;
class vtkDataSet;

namespace surrogate::vtk {

/// Looks at the cells of an unstructured grid or polydata, which VTK's readers take from a file as
/// they are: every corner is a point of the mesh, every type is known and has as many corners as it
/// should, every polyhedron has faces, of points of the mesh. Other grids: nothing to look at.
/// Throws BAD_FILE, naming cell, point and number of points. One pass over the connectivity.
void check_cells(const std::string& path, vtkDataSet* mesh);

/// Faces of one polyhedron in a stream of [number of faces][number of corners][corners]..
struct FaceStream {
    vtkIdType end = 0;    ///< where the next cell begins
    std::string problem;  ///< "" or "names point 100 in a face, the mesh has 4 points"
};
FaceStream read_faces(std::span<const vtkIdType> stream, vtkIdType begin, vtkIdType n_points);

/// Lagrange and Bezier cells, whose order follows from their number of corners, or from the cell
/// array "HigherOrderDegrees".
bool has_order(int cell_type);

/// "" if such a cell has the corners of an order that VTK evaluates (1 to 10).
///   degrees  [cells][3], may be null
std::string order_problem(int cell_type, vtkIdType n_corners, vtkDataArray* degrees,
                          vtkIdType cell);

}  // namespace surrogate::vtk
