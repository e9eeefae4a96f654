// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkType.h>

#include <span>
#include <string>

class vtkDataArray;
class vtkDataSet;

namespace surrogate::vtk {

/// Checks the cells of an unstructured grid or polydata, which VTK's readers do not check: every
/// corner must be a point of the mesh, every type must be known and have its number of corners, and
/// every polyhedron must have faces with points of the mesh. Does nothing for other grids. Throws
/// BAD_FILE with cell, point and number of points. One pass over the connectivity.
void check_cells(const std::string& path, vtkDataSet* mesh);

/// Faces of one polyhedron in a stream of [number of faces][number of corners][corners]..
struct FaceStream {
    vtkIdType end = 0;  ///< begin of the next cell
    std::string
        problem;  ///< "", or a text such as "names point 100 in a face, the mesh has 4 points"
};
FaceStream read_faces(std::span<const vtkIdType> stream, vtkIdType begin, vtkIdType n_points);

/// Returns true for Lagrange and Bezier cells. Their order follows from their number of corners, or
/// from the cell array "HigherOrderDegrees".
bool has_order(int cell_type);

/// Returns "" if the number of corners matches an order that VTK evaluates (1 to 10), and an error
/// text otherwise.
///   degrees  [cells][3], may be null
std::string order_problem(int cell_type, vtkIdType n_corners, vtkDataArray* degrees,
                          vtkIdType cell);

}  // namespace surrogate::vtk
