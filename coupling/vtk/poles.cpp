// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/poles.hpp"

#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkStructuredGrid.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "coupling/vtk/surface.hpp"

namespace surrogate::vtk {

namespace {

constexpr double at_pole = 1e-6;  // degrees

bool needs_cap(const surrogate_sphere_surface& s, double latitude) {
    const double gap = 90 - std::abs(latitude);
    return gap > at_pole && gap <= 180 / static_cast<double>(s.n_lat);
}

/// Writes the mean of a row to a row of a cap. The last column repeats the first and counts once.
void fill_cap(vtkDataArray* array, vtkIdType row, vtkIdType cap, vtkIdType n_column) {
    const bool is_whole = array->GetDataType() != VTK_FLOAT && array->GetDataType() != VTK_DOUBLE;
    for (int c = 0; c < array->GetNumberOfComponents(); ++c) {
        double sum = 0;
        for (vtkIdType j = 0; j + 1 < n_column; ++j)
            sum += array->GetComponent(row * n_column + j, c);
        double mean = sum / static_cast<double>(n_column - 1);
        if (is_whole) mean = std::round(mean);
        for (vtkIdType j = 0; j < n_column; ++j) array->SetComponent(cap * n_column + j, c, mean);
    }
}

}  // namespace

Caps caps_of(const surrogate_sphere_surface& s) {
    if (s.is_lon_lat || s.n_lat_local == 0) return {};
    const bool has_first = s.first_lat == 0;
    const bool has_last = s.first_lat + s.n_lat_local == s.n_lat;
    return {has_first && needs_cap(s, s.latitude[0]),
            has_last && needs_cap(s, s.latitude[s.n_lat_local - 1])};
}

vtkSmartPointer<vtkStructuredGrid> with_caps(vtkStructuredGrid* closed, const Caps& caps,
                                             const surrogate_sphere_surface& s) {
    int extent[6], n[3];
    closed->GetExtent(extent);
    closed->GetDimensions(n);
    const vtkIdType n_column = n[0], n_row = n[1] + caps.n(), first = caps.before ? 1 : 0;
    const vtkIdType last = n_row - 1 - (caps.after ? 1 : 0);
    // Rows of caps are first copies of the rows beside them; coordinates and values are set below.
    std::vector<vtkIdType> order;
    for (vtkIdType i = 0; i < n_row; ++i)
        for (vtkIdType j = 0; j < n_column; ++j)
            order.push_back((std::clamp(i, first, last) - first) * n_column + j);
    const auto grid = vtkSmartPointer<vtkStructuredGrid>::New();
    if (caps.before) --extent[2];
    if (caps.after) ++extent[3];
    grid->SetExtent(extent);
    grid->SetPoints(copy_points(closed->GetPoints(), order));
    copy_rows(closed->GetPointData(), grid->GetPointData(), order);
    const auto close = [&](vtkIdType cap, vtkIdType row, double latitude) {
        for (vtkIdType j = 0; j < n_column; ++j)
            grid->GetPoints()->SetPoint(cap * n_column + j, 0, 0,
                                        std::copysign(s.radius, latitude));
        for (int k = 0; k < grid->GetPointData()->GetNumberOfArrays(); ++k)
            fill_cap(grid->GetPointData()->GetArray(k), row, cap, n_column);
    };
    if (caps.before) close(0, first, s.latitude[0]);
    if (caps.after) close(n_row - 1, last, s.latitude[s.n_lat_local - 1]);
    return grid;
}

}  // namespace surrogate::vtk
