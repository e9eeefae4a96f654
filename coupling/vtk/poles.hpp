// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>
#include <vtkSmartPointer.h>

class vtkStructuredGrid;

namespace surrogate::vtk {

/// Which ends of a rank's rows are rows of caps: beside the first and the last row of the globe,
/// where that row lies at no pole, and not farther from one than 180 / n_lat degrees (rows of a
/// part of the globe have no caps). Each rank knows its own.
struct Caps {
    bool before = false, after = false;
    int n() const { return int{before} + int{after}; }
};
Caps caps_of(const surrogate_sphere_surface& surface);

/// A copy with the rows of the caps: all their points at the pole, all with the mean of the row
/// beside it (of each component; of integers rounded). Extents grow over both ends, to -1 and
/// n_lat.
vtkSmartPointer<vtkStructuredGrid> with_caps(vtkStructuredGrid* closed, const Caps& caps,
                                             const surrogate_sphere_surface& surface);

}  // namespace surrogate::vtk
