// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkSmartPointer.h>

#include <cstdint>
#include <vector>

class vtkDataSet;

namespace surrogate::vtk {

/// A part of a mesh and where its rows were.
struct Part {
    vtkSmartPointer<vtkDataSet> grid;
    std::vector<int64_t> point_rows, cell_rows;  ///< in the whole mesh, ascending
};

/// First of n things that part `part` of n_parts gets in equal ranges.
int64_t range_begin(int64_t n, int part, int n_parts);

/// Part `part` of n_parts of an unstructured grid or polydata: an equal range of its cells with the
/// points they use, and an equal range of the points without cells. The same on every rank, all
/// arrays go along.
Part cut(vtkDataSet* whole, int part, int n_parts);

}  // namespace surrogate::vtk
