// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

class vtkDataSet;
class vtkImageData;

namespace surrogate::vtk {

/// First and last grid point along x, y, z, with VTK's numbering.
using Extent = std::array<int, 6>;

/// Returns slab `rank` of `size` along the longest axis, or along `axis`, with equal ranges of
/// cells. first > last means no cells.
Extent slab(const Extent& whole, int rank, int size);
Extent slab(const Extent& whole, int rank, int size, int axis);

/// Returns the numbers of the points (cells) of `own` in the whole image, x fastest.
std::vector<int64_t> image_rows(const Extent& whole, const Extent& own, int location);

/// Returns coordinates [n][3] of the points or cell centers of an image, x fastest.
std::vector<double> image_positions(vtkImageData* image, int location);

/// Returns coordinates [n][3] of the points; cell_centers() returns the centers of cells (in their
/// own parameters, as VTK's vtkCellCenters). Throws NOT_SUPPORTED for a cell with too few points.
/// The cells must have passed check_cells().
std::vector<double> point_positions(vtkDataSet* grid);
std::vector<double> cell_positions(vtkDataSet* grid);

}  // namespace surrogate::vtk
