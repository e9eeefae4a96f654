// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkSmartPointer.h>

#include <cstdint>
#include <vector>

class vtkDataSet;

namespace surrogate::vtk {

/// A part of a mesh and where its rows were.
struct Part {
    vtkSmartPointer<vtkDataSet> grid;
    std::vector<int64_t> point_rows, cell_rows;  ///< in the whole mesh, ascending
};

/// Part `part` of n_parts of an unstructured grid or polydata: as many cells as any other part, near
/// each other (bisect() of the means of their corners), with the points they use; and a share of
/// the points without cells, near each other too. The same on every rank, all arrays go along.
/// The corners of all cells are points of the mesh (check_cells()). Memory: 32 bytes a cell beside
/// the part.
Part cut(vtkDataSet* whole, int part, int n_parts);

}  // namespace surrogate::vtk
