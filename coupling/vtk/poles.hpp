// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>
#include <vtkSmartPointer.h>

class vtkStructuredGrid;

namespace surrogate::vtk {

/// Flags for caps at the ends of a rank's rows. A cap is beside the first or the last row of the
/// globe if that row is not at a pole and at most 180 / n_lat degrees from it (rows of a part of
/// the globe have no caps). Each rank has its own flags.
struct Caps {
    bool before = false, after = false;
    int n() const { return int{before} + int{after}; }
};
Caps caps_of(const surrogate_sphere_surface& surface);

/// Returns a copy with the rows of the caps. All their points are at the pole and have the mean of
/// the row beside it (for each component; rounded for integers). Extents include the caps, from -1
/// to n_lat.
vtkSmartPointer<vtkStructuredGrid> with_caps(vtkStructuredGrid* closed, const Caps& caps,
                                             const surrogate_sphere_surface& surface);

}  // namespace surrogate::vtk
