// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

class vtkDataSet;
class vtkImageData;

namespace surrogate::vtk {

/// First and last grid point along x, y, z, as VTK counts.
using Extent = std::array<int, 6>;

/// Slab `rank` of `size` along the longest axis, or along `axis`: equal ranges of cells; first >
/// last: no cells.
Extent slab(const Extent& whole, int rank, int size);
Extent slab(const Extent& whole, int rank, int size, int axis);

/// Numbers of the points (cells) of `own` in the whole image, x fastest.
std::vector<int64_t> image_rows(const Extent& whole, const Extent& own, int location);

/// Coordinates [n][3] of the points or cell centres of an image, x fastest.
std::vector<double> image_positions(vtkImageData* image, int location);

/// Coordinates [n][3] of the points; of the cells' centres (in their own parameters, as VTK's
/// vtkCellCenters). Throws NOT_SUPPORTED for a cell of too few points. The cells are as
/// check_cells() wants them.
std::vector<double> point_positions(vtkDataSet* grid);
std::vector<double> cell_positions(vtkDataSet* grid);

}  // namespace surrogate::vtk
