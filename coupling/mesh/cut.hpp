// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkSmartPointer.h>

#include <cstdint>
#include <vector>

class vtkDataSet;

namespace surrogate::vtk {

/// A part of a mesh, and the rows that its rows had in the whole mesh.
struct Part {
    vtkSmartPointer<vtkDataSet> grid;
    std::vector<int64_t> point_rows, cell_rows;  ///< in the whole mesh, ascending
};

/// Cuts an unstructured grid or polydata into n_parts parts. Each part has the same number of
/// cells, which are close together (bisect() of the means of their corners), the points of the
/// cells, and a part of the points without cells, also close together. The result is the same on
/// every rank; all arrays are included. All corners must be points of the mesh (check_cells()).
/// Time: n log n_parts to cut, and the size of a part to create it. Memory: 8 bytes per cell and 16
/// bytes per point in addition to the mesh and a part, and 32 bytes per cell more during the cut.
class Cut {
public:
    /// Keeps a pointer to the mesh.
    Cut(vtkDataSet* whole, int n_parts);

    /// Returns a part as a copy. Parts may be created in any order.
    Part part(int number);

private:
    template <class Grid>
    Part part_as(Grid* whole, int number);
    std::vector<int64_t> points_of(int number);

    vtkDataSet* whole_;
    std::vector<std::vector<int64_t>> cells_, lone_points_;  ///< for each part
    std::vector<int64_t> part_of_whole_;  ///< [points] number in the current part; -1: not in it
};

}  // namespace surrogate::vtk
