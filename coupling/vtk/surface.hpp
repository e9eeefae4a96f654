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

/// Creates a curvilinear grid of n_lon columns from the rows of a grid on the sphere, including the
/// overlap. Throws INVALID_ARGUMENT or SHAPE with the name of the invalid argument.
vtkSmartPointer<vtkStructuredGrid> make_grid(const surrogate_sphere_surface& surface);

/// Returns true if the rows, including rows of caps, have cells of the sphere, which a summary can
/// name.
bool has_cells(const surrogate_sphere_surface& surface, int n_caps = 0);

/// Copies points, or rows of all arrays, of another grid in the given order; rows may be repeated.
vtkSmartPointer<vtkPoints> copy_points(vtkPoints* from, const std::vector<vtkIdType>& order);
void copy_rows(vtkPointData* from, vtkPointData* to, const std::vector<vtkIdType>& order);

/// Returns a copy with the first column and its values repeated after the last. `turn` is added to
/// x of the repeated points: 0 on the sphere, 360 on a map in degrees.
vtkSmartPointer<vtkStructuredGrid> with_closed_seam(vtkStructuredGrid* open, double turn);

}  // namespace surrogate::vtk
