// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>

#include <vector>

#include "coupling/vtk/summary.hpp"

class vtkDataSet;
class vtkDataSetAttributes;

namespace surrogate::vtk {

/// The arrays at SURROGATE_POINT or SURROGATE_CELL.
vtkDataSetAttributes* attributes_of(vtkDataSet* grid, int location);

/// Name, type, components and unit of each array of numbers there.
std::vector<ArrayInfo> arrays_of(vtkDataSet* grid, int location);

}  // namespace surrogate::vtk
