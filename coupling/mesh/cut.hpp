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

/// An unstructured grid or polydata that is cut into n_parts parts: each with as many cells as any
/// other, near each other (bisect() of the means of their corners), with the points they use; and a
/// share of the points without cells, near each other too. The same whoever cuts; all arrays go
/// along. The corners of all cells are points of the mesh (check_cells()).
/// Time: n log n_parts to cut, and what a part has to make it. Memory: 8 bytes a cell and 16 bytes
/// a point beside the mesh and a part, and 32 bytes a cell more while it is cut.
class Cut {
public:
    /// Keeps a pointer to the mesh.
    Cut(vtkDataSet* whole, int n_parts);

    /// A copy of its own. Parts may be made in any order.
    Part part(int number);

private:
    template <class Grid>
    Part part_as(Grid* whole, int number);
    std::vector<int64_t> points_of(int number);

    vtkDataSet* whole_;
    std::vector<std::vector<int64_t>> cells_, lone_points_;  ///< of each part
    std::vector<int64_t> part_of_whole_;  ///< [points] number in the part; -1 in no part under way
};

}  // namespace surrogate::vtk
