// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>
#include <vtkSmartPointer.h>

class vtkDataSet;
class vtkImageData;
class vtkUnstructuredGrid;

namespace surrogate::vtk {

/// Creates VTK's view of arrays. Memory in VTK's layout (contiguous rows) is used in place, so the
/// arrays must outlive the grid; other arrays are copied once. Throws INVALID_ARGUMENT, SHAPE or
/// NOT_SUPPORTED with the name of the invalid argument.
vtkSmartPointer<vtkUnstructuredGrid> make_grid(const surrogate_mesh& mesh);
vtkSmartPointer<vtkImageData> make_grid(const surrogate_image& image);

/// Returns true if the block has cells of the whole grid, which a summary can name.
bool has_cells(const surrogate_image& image);

/// Adds the fields to the grid; with `unit_in_name` the arrays are named "name [unit]".
void add_fields(vtkDataSet* grid, int n_fields, const surrogate_series_field* fields,
                bool unit_in_name);

}  // namespace surrogate::vtk
