// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>
#include <vtkSmartPointer.h>

class vtkDataSet;
class vtkImageData;
class vtkUnstructuredGrid;

namespace surrogate::vtk {

/// VTK's view of plain arrays. Memory that already lies as VTK wants it (rows one after another) is
/// used in place, so the arrays must outlive the grid; everything else is copied once.
/// Errors: INVALID_ARGUMENT, SHAPE, NOT_SUPPORTED, each with the name of what is wrong.
vtkSmartPointer<vtkUnstructuredGrid> make_grid(const surrogate_mesh& mesh);
vtkSmartPointer<vtkImageData> make_grid(const surrogate_image& image);

/// True if the block has cells of the whole grid (what a summary can name).
bool has_cells(const surrogate_image& image);

/// Adds the fields to the grid; with `unit_in_name` they are called "name [unit]".
void add_fields(vtkDataSet* grid, int n_fields, const surrogate_series_field* fields,
                bool unit_in_name);

}  // namespace surrogate::vtk
