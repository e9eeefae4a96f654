// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/surface.hpp"

#include <vtkIdList.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkStructuredGrid.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

constexpr double degree = std::numbers::pi / 180;

int64_t n_rows(const surrogate_sphere_surface& surface) {
    return surface.n_lat_local + surface.n_overlap;
}

void check_counts(const surrogate_sphere_surface& s) {
    constexpr int64_t largest = std::numeric_limits<int>::max() - 1;  // VTK's extents are int
    if (s.n_lat < 2 || s.n_lon < 3 || s.n_lat > largest || s.n_lon > largest)
        throw Error(SURROGATE_SHAPE, "surface has n_lat x n_lon = " + std::to_string(s.n_lat) +
                                         " x " + std::to_string(s.n_lon) +
                                         "; a sphere has at least 2 x 3 points");
    if (s.n_overlap != 0 && s.n_overlap != 1)
        throw Error(SURROGATE_SHAPE,
                    "surface.n_overlap is " + std::to_string(s.n_overlap) + "; it is 0 or 1");
    if (s.first_lat < 0 || s.n_lat_local < 0 || s.first_lat > s.n_lat ||
        n_rows(s) > s.n_lat - s.first_lat)
        throw Error(SURROGATE_SHAPE, "surface has the rows " + std::to_string(s.first_lat) +
                                         " .. " + std::to_string(s.first_lat + n_rows(s) - 1) +
                                         " with the overlap, of " + std::to_string(s.n_lat) +
                                         "; the owner of the last row has n_overlap 0");
}

void check_values(const surrogate_sphere_surface& s) {
    if (!std::isfinite(s.radius) || s.radius <= 0)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    "surface.radius is " + std::to_string(s.radius) + "; it is positive");
    if (n_rows(s) > 0) require(s.latitude, "surface.latitude");
    for (int64_t i = 0; i < n_rows(s); ++i)
        if (!(std::abs(s.latitude[i]) <= 90))
            throw Error(SURROGATE_INVALID_ARGUMENT, "surface.latitude[" + std::to_string(i) +
                                                        "] is " + std::to_string(s.latitude[i]) +
                                                        "; latitudes are -90 .. 90 degrees");
    for (int64_t i = 2; i < n_rows(s); ++i)
        if (!((s.latitude[i] - s.latitude[i - 1]) * (s.latitude[1] - s.latitude[0]) > 0))
            throw Error(SURROGATE_INVALID_ARGUMENT,
                        "surface.latitude turns at row " + std::to_string(i) +
                            "; rows lie from north to south or from south to north");
}

/// Returns the longitudes of the columns eastward without a jump: adds 360 where the numbers start
/// again.
std::vector<double> columns_of(const surrogate_sphere_surface& s) {
    std::vector<double> lon(static_cast<size_t>(s.n_lon));
    double turns = 0;
    for (size_t j = 0; j < lon.size(); ++j) {
        const double given = s.longitude == nullptr
                                 ? 360 * static_cast<double>(j) / static_cast<double>(s.n_lon)
                                 : s.longitude[j];
        if (j > 0 && turns == 0 && given < lon[j - 1]) turns = 360;
        lon[j] = given + turns;
        if (!std::isfinite(lon[j]) || (j > 0 && !(lon[j] > lon[j - 1])) || lon[j] >= lon[0] + 360)
            throw Error(SURROGATE_INVALID_ARGUMENT,
                        "surface.longitude[" + std::to_string(j) + "] is " + std::to_string(given) +
                            "; columns go eastwards once around, without a doubled end point");
    }
    return lon;
}

std::array<double, 3> position(const surrogate_sphere_surface& s, double lat, double lon) {
    if (s.is_lon_lat) return {lon, lat, s.radius};
    const double ring = s.radius * std::cos(lat * degree);
    return {ring * std::cos(lon * degree), ring * std::sin(lon * degree),
            s.radius * std::sin(lat * degree)};
}

/// Returns point numbers of the open grid in the order of the closed grid.
std::vector<vtkIdType> closed_order(int n_column, int n_row) {
    std::vector<vtkIdType> order;
    for (vtkIdType i = 0; i < n_row; ++i) {
        for (vtkIdType j = 0; j < n_column; ++j) order.push_back(i * n_column + j);
        order.push_back(i * n_column);
    }
    return order;
}

}  // namespace

bool has_cells(const surrogate_sphere_surface& surface, int n_caps) {
    return n_rows(surface) + n_caps > 1;
}

vtkSmartPointer<vtkPoints> copy_points(vtkPoints* from, const std::vector<vtkIdType>& order) {
    auto points = vtkSmartPointer<vtkPoints>::New();
    points->SetDataType(from->GetDataType());
    points->SetNumberOfPoints(static_cast<vtkIdType>(order.size()));
    for (size_t i = 0; i < order.size(); ++i)
        points->SetPoint(static_cast<vtkIdType>(i), from->GetPoint(order[i]));
    return points;
}

void copy_rows(vtkPointData* from, vtkPointData* to, const std::vector<vtkIdType>& order) {
    vtkNew<vtkIdList> source, target;
    const auto n = static_cast<vtkIdType>(order.size());
    for (vtkIdType i = 0; i < n; ++i) {
        source->InsertNextId(order[static_cast<size_t>(i)]);
        target->InsertNextId(i);
    }
    to->CopyAllOn();
    to->CopyAllocate(from, n);
    to->CopyData(from, source, target);
    for (int i = 0; i < to->GetNumberOfArrays(); ++i) to->GetAbstractArray(i)->SetNumberOfTuples(n);
}

vtkSmartPointer<vtkStructuredGrid> make_grid(const surrogate_sphere_surface& s) {
    check_counts(s);
    check_values(s);
    const std::vector<double> lon = columns_of(s);
    vtkNew<vtkPoints> points;
    points->SetDataTypeToDouble();
    points->SetNumberOfPoints(n_rows(s) * s.n_lon);
    vtkIdType at = 0;
    for (int64_t i = 0; i < n_rows(s); ++i)
        for (const double east : lon)
            points->SetPoint(at++, position(s, s.latitude[i], east).data());
    auto grid = vtkSmartPointer<vtkStructuredGrid>::New();
    const int first = static_cast<int>(s.first_lat);
    grid->SetExtent(0, static_cast<int>(s.n_lon) - 1, first,
                    first + static_cast<int>(n_rows(s)) - 1, 0, 0);
    grid->SetPoints(points);
    return grid;
}

vtkSmartPointer<vtkStructuredGrid> with_closed_seam(vtkStructuredGrid* open, double turn) {
    int extent[6], n[3];
    open->GetExtent(extent);
    open->GetDimensions(n);
    const auto order = closed_order(n[0], n[1]);
    auto closed = vtkSmartPointer<vtkStructuredGrid>::New();
    ++extent[1];
    closed->SetExtent(extent);
    const auto points = copy_points(open->GetPoints(), order);
    for (vtkIdType last = n[0]; last < points->GetNumberOfPoints(); last += n[0] + 1) {
        double x[3];
        points->GetPoint(last, x);
        points->SetPoint(last, x[0] + turn, x[1], x[2]);
    }
    closed->SetPoints(points);
    copy_rows(open->GetPointData(), closed->GetPointData(), order);
    return closed;
}

}  // namespace surrogate::vtk
