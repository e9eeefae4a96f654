// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>

#include <vector>

#include "coupling/vtk/summary.hpp"

class vtkDataSet;
class vtkDataSetAttributes;

namespace surrogate::vtk {

/// Returns the arrays at SURROGATE_POINT or SURROGATE_CELL.
vtkDataSetAttributes* attributes_of(vtkDataSet* grid, int location);

/// Returns name, type, components and unit of each numeric array at the location.
std::vector<ArrayInfo> arrays_of(vtkDataSet* grid, int location);

}  // namespace surrogate::vtk
