// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>
#include <vtkSmartPointer.h>
#include <vtkType.h>

#include <vector>

class vtkPointData;
class vtkPoints;
class vtkStructuredGrid;

namespace surrogate::vtk {

/// The rows of a grid on the sphere as a curvilinear grid of n_lon columns, rows with the overlap.
/// Errors: INVALID_ARGUMENT, SHAPE with the name of what is wrong.
vtkSmartPointer<vtkStructuredGrid> make_grid(const surrogate_sphere_surface& surface);

/// True if the rows, with those of caps, have cells of the sphere (what a summary can name).
bool has_cells(const surrogate_sphere_surface& surface, int n_caps = 0);

/// Points, and rows of all arrays, of another grid in an order of one's own; rows may be repeated.
vtkSmartPointer<vtkPoints> copy_points(vtkPoints* from, const std::vector<vtkIdType>& order);
void copy_rows(vtkPointData* from, vtkPointData* to, const std::vector<vtkIdType>& order);

/// A copy with the first column and its values repeated behind the last. `turn` is added to x of
/// the repeated points: 0 on the sphere, 360 on a map in degrees.
vtkSmartPointer<vtkStructuredGrid> with_closed_seam(vtkStructuredGrid* open, double turn);

}  // namespace surrogate::vtk
