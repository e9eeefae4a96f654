// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/grid.hpp"

#include <vtkCellArray.h>
#include <vtkCellData.h>
#include <vtkCellType.h>
#include <vtkDataArray.h>
#include <vtkDoubleArray.h>
#include <vtkFloatArray.h>
#include <vtkImageData.h>
#include <vtkInformation.h>
#include <vtkInformationStringKey.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkTypeInt32Array.h>
#include <vtkTypeInt64Array.h>
#include <vtkTypeUInt8Array.h>
#include <vtkUnstructuredGrid.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "coupling/vtk/arrays.hpp"
#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

constexpr int64_t most_numbers = int64_t{1} << 59;  // doubles in the address space

/// Checks that numbers, components and strides fit the types of VTK and of addresses.
void check_size(const surrogate_array& array, const std::string& what) {
    const int64_t n_row = array.shape[0], n_column = array.shape[1];
    if (n_column > std::numeric_limits<int32_t>::max() ||
        n_row > most_numbers / std::max<int64_t>(n_column, 1))
        throw Error(SURROGATE_LIMIT, what + " has " + std::to_string(n_row) + " x " +
                                         std::to_string(n_column) +
                                         " numbers, expected at most 2^31 - 1 columns and 2^59 "
                                         "numbers");
    if (n_row == 0 || n_column == 0) return;
    const double reach = std::abs(static_cast<double>(array.stride[0])) * double(n_row - 1) +
                         std::abs(static_cast<double>(array.stride[1])) * double(n_column - 1);
    if (reach >= double(most_numbers))
        throw Error(SURROGATE_SHAPE, what + " has strides (" + std::to_string(array.stride[0]) +
                                         ", " + std::to_string(array.stride[1]) +
                                         "), which lead out of the address space");
}

void check_array(const surrogate_array& array, const std::string& what) {
    if (array.space != SURROGATE_HOST)
        throw Error(SURROGATE_NOT_SUPPORTED, what + " is not in host memory; copy it first");
    if (array.shape[0] < 0 || array.shape[1] < 0)
        throw Error(SURROGATE_SHAPE, what + " has a negative extent");
    check_size(array, what);
    if (array.data == nullptr && array.shape[0] > 0 && array.shape[1] > 0)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    what + " has data NULL and " + std::to_string(array.shape[0]) + " rows");
}

template <class T>
void copy_rows(const surrogate_array& from, T* to) {
    const T* data = static_cast<const T*>(from.data);
    for (int64_t i = 0; i < from.shape[0]; ++i)
        for (int64_t j = 0; j < from.shape[1]; ++j)
            *to++ = data[i * from.stride[0] + j * from.stride[1]];
}

/// Returns true for contiguous rows with contiguous components, which is VTK's layout.
bool lies_as_vtk(const surrogate_array& array) {
    const bool has_close_columns = array.shape[1] == 1 || array.stride[1] == 1;
    return has_close_columns && (array.shape[0] <= 1 || array.stride[0] == array.shape[1]);
}

template <class VtkArray>
vtkSmartPointer<vtkDataArray> wrap(const surrogate_array& array) {
    using Value = typename VtkArray::ValueType;
    auto result = vtkSmartPointer<VtkArray>::New();
    result->SetNumberOfComponents(static_cast<int>(array.shape[1]));
    if (array.shape[0] > 0 && lies_as_vtk(array)) {
        constexpr int keep = 1;  // VTK does not free it
        result->SetArray(static_cast<Value*>(array.data), array.shape[0] * array.shape[1], keep);
    } else {
        result->SetNumberOfTuples(array.shape[0]);
        copy_rows(array, result->GetPointer(0));
    }
    return result;
}

vtkSmartPointer<vtkDataArray> wrap(const surrogate_array& array, const std::string& what) {
    check_array(array, what);
    switch (array.dtype) {
        case SURROGATE_FLOAT32: return wrap<vtkFloatArray>(array);
        case SURROGATE_FLOAT64: return wrap<vtkDoubleArray>(array);
        case SURROGATE_INT32: return wrap<vtkTypeInt32Array>(array);
        case SURROGATE_INT64: return wrap<vtkTypeInt64Array>(array);
        case SURROGATE_UINT8: return wrap<vtkTypeUInt8Array>(array);
        default: break;
    }
    throw Error(SURROGATE_INVALID_ARGUMENT,
                what + " has dtype " + std::to_string(array.dtype) + ", which does not exist");
}

double value_at(const surrogate_array& array, int64_t i, int64_t j) {
    const int64_t at = i * array.stride[0] + j * array.stride[1];
    return array.dtype == SURROGATE_FLOAT32 ? static_cast<const float*>(array.data)[at]
                                            : static_cast<const double*>(array.data)[at];
}

vtkSmartPointer<vtkPoints> make_points(const surrogate_array& x) {
    check_array(x, "mesh.points");
    if (x.shape[1] < 1 || x.shape[1] > 3)
        throw Error(SURROGATE_SHAPE, "mesh.points has " + std::to_string(x.shape[1]) +
                                         " columns, coordinates have 1 to 3");
    if (x.dtype != SURROGATE_FLOAT32 && x.dtype != SURROGATE_FLOAT64)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    "mesh.points.dtype is " + std::to_string(x.dtype) +
                        ", expected SURROGATE_FLOAT32 or SURROGATE_FLOAT64");
    auto points = vtkSmartPointer<vtkPoints>::New();
    points->SetDataTypeToDouble();
    if (x.dtype == SURROGATE_FLOAT64 && x.shape[1] == 3) {
        points->SetData(wrap<vtkDoubleArray>(x));
        return points;
    }
    points->SetNumberOfPoints(x.shape[0]);
    double* to = static_cast<double*>(points->GetVoidPointer(0));
    for (int64_t i = 0; i < x.shape[0]; ++i)
        for (int64_t j = 0; j < 3; ++j) *to++ = j < x.shape[1] ? value_at(x, i, j) : 0.0;
    return points;
}

vtkSmartPointer<vtkCellArray> make_vertices(int64_t n_points) {
    vtkNew<vtkTypeInt64Array> offsets, connectivity;
    offsets->SetNumberOfValues(n_points + 1);
    connectivity->SetNumberOfValues(n_points);
    for (int64_t i = 0; i <= n_points; ++i) offsets->SetValue(i, i);
    for (int64_t i = 0; i < n_points; ++i) connectivity->SetValue(i, i);
    auto cells = vtkSmartPointer<vtkCellArray>::New();
    cells->SetData(offsets, connectivity);
    return cells;
}

void check_cells(const surrogate_mesh& mesh) {
    require(mesh.offsets, "mesh.offsets");
    require(mesh.connectivity, "mesh.connectivity");
    require(mesh.types, "mesh.types");
    if (mesh.offsets[0] != 0) throw Error(SURROGATE_SHAPE, "mesh.offsets[0] is not 0");
    for (int64_t i = 0; i < mesh.n_cells; ++i) {
        if (mesh.offsets[i + 1] < mesh.offsets[i])
            throw Error(SURROGATE_SHAPE, "mesh.offsets decreases at cell " + std::to_string(i));
        if (mesh.types[i] == VTK_POLYHEDRON)
            throw Error(SURROGATE_NOT_SUPPORTED,
                        "cell " + std::to_string(i) +
                            " is a polyhedron (type 42), whose faces "
                            "cannot be given here; write its points or split it");
    }
    for (int64_t k = 0; k < mesh.offsets[mesh.n_cells]; ++k)
        if (mesh.connectivity[k] < 0 || mesh.connectivity[k] >= mesh.points.shape[0])
            throw Error(SURROGATE_SHAPE, "mesh.connectivity[" + std::to_string(k) + "] is " +
                                             std::to_string(mesh.connectivity[k]) +
                                             ", the mesh has " +
                                             std::to_string(mesh.points.shape[0]) + " points");
}

vtkSmartPointer<vtkTypeInt64Array> view(const int64_t* data, int64_t n) {
    auto array = vtkSmartPointer<vtkTypeInt64Array>::New();
    void* memory = const_cast<int64_t*>(
        data);  // VTK's 64-bit type has another name and the same representation
    array->SetArray(static_cast<vtkTypeInt64Array::ValueType*>(memory), n, 1);
    return array;
}

void set_cells(const surrogate_mesh& mesh, vtkUnstructuredGrid* grid) {
    check_cells(mesh);
    vtkNew<vtkCellArray> cells;
    cells->SetData(view(mesh.offsets, mesh.n_cells + 1),
                   view(mesh.connectivity, mesh.offsets[mesh.n_cells]));
    vtkNew<vtkUnsignedCharArray> types;
    types->SetArray(const_cast<uint8_t*>(mesh.types), mesh.n_cells, 1);
    grid->SetCells(types, cells);
}

std::string extent_text(const int32_t* extent) {
    std::string text = "{";
    for (int i = 0; i < 6; ++i) text += (i == 0 ? "" : ", ") + std::to_string(extent[i]);
    return text + "}";
}

void check_image(const surrogate_image& image) {
    for (int axis = 0; axis < 3; ++axis) {
        const int32_t* whole = image.whole_extent + 2 * axis;
        const int32_t* own = image.extent + 2 * axis;
        if (whole[1] < whole[0])
            throw Error(SURROGATE_SHAPE,
                        "image.whole_extent " + extent_text(image.whole_extent) + " is empty");
        if (own[0] <= own[1] && (own[0] < whole[0] || own[1] > whole[1]))
            throw Error(SURROGATE_SHAPE, "image.extent " + extent_text(image.extent) +
                                             " leaves the whole extent " +
                                             extent_text(image.whole_extent) +
                                             "; extents count grid points, n cells have n + 1");
        if (!(image.spacing[axis] > 0) || !std::isfinite(image.spacing[axis]) ||
            !std::isfinite(image.origin[axis]))
            throw Error(SURROGATE_INVALID_ARGUMENT,
                        "image.origin and image.spacing of axis " + std::to_string(axis) + " are " +
                            std::to_string(image.origin[axis]) + " and " +
                            std::to_string(image.spacing[axis]) +
                            ", expected finite numbers and a positive spacing, also along a flat "
                            "axis");
    }
}

void check_name(const surrogate_series_field& field) {
    require(field.name, "the name of a field");
    const std::string name = field.name;
    const bool is_printable = std::none_of(
        name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 32; });
    if (name.empty() || !is_printable)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    "a field's name is empty or has control characters");
    if (field.location != SURROGATE_POINT && field.location != SURROGATE_CELL)
        throw Error(SURROGATE_INVALID_ARGUMENT, "field '" + name + "' has location " +
                                                    std::to_string(field.location) +
                                                    "; SURROGATE_POINT and SURROGATE_CELL exist");
}

void check_rows(const surrogate_series_field& field, int64_t n_rows) {
    const std::string name = field.name;
    if (field.array.shape[1] < 1)
        throw Error(SURROGATE_SHAPE, "field '" + name + "' has no component");
    if (field.array.shape[0] != n_rows)
        throw Error(SURROGATE_SHAPE,
                    "field '" + name + "' has " + std::to_string(field.array.shape[0]) +
                        " rows, this rank's mesh has " + std::to_string(n_rows) +
                        (field.location == SURROGATE_POINT ? " points" : " cells"));
}

void add_field(vtkDataSet* grid, const surrogate_series_field& field, bool unit_in_name) {
    check_name(field);
    auto* attributes = attributes_of(grid, field.location);
    check_rows(field, field.location == SURROGATE_POINT ? grid->GetNumberOfPoints()
                                                        : grid->GetNumberOfCells());
    const std::string unit = field.unit == nullptr ? "" : field.unit;
    std::string name = field.name;
    const auto array = wrap(field.array, "field '" + name + "'");
    if (unit_in_name && !unit.empty()) name += " [" + unit + "]";
    if (attributes->HasArray(name.c_str()))
        throw Error(SURROGATE_INVALID_ARGUMENT, "field '" + name + "' is given twice");
    array->SetName(name.c_str());
    if (!unit.empty()) array->GetInformation()->Set(vtkDataArray::UNITS_LABEL(), unit.c_str());
    attributes->AddArray(array);
}

}  // namespace

vtkSmartPointer<vtkUnstructuredGrid> make_grid(const surrogate_mesh& mesh) {
    if (mesh.n_cells < 0)
        throw Error(SURROGATE_SHAPE, "mesh.n_cells is " + std::to_string(mesh.n_cells));
    if (mesh.n_cells >= most_numbers)
        throw Error(SURROGATE_LIMIT, "mesh.n_cells is " + std::to_string(mesh.n_cells) +
                                         ", expected less than 2^59");
    auto grid = vtkSmartPointer<vtkUnstructuredGrid>::New();
    grid->SetPoints(make_points(mesh.points));
    if (mesh.n_cells > 0)
        set_cells(mesh, grid);
    else
        grid->SetCells(VTK_VERTEX, make_vertices(mesh.points.shape[0]));
    return grid;
}

bool has_cells(const surrogate_image& image) {
    for (int axis = 0; axis < 3; ++axis) {
        const int32_t* whole = image.whole_extent + 2 * axis;
        const int32_t* own = image.extent + 2 * axis;
        if (own[1] < own[0] || (own[1] == own[0] && whole[1] > whole[0])) return false;
    }
    return true;
}

vtkSmartPointer<vtkImageData> make_grid(const surrogate_image& image) {
    check_image(image);
    auto grid = vtkSmartPointer<vtkImageData>::New();
    int extent[6];
    std::copy(image.extent, image.extent + 6, extent);
    grid->SetExtent(extent);
    grid->SetOrigin(image.origin);
    grid->SetSpacing(image.spacing);
    return grid;
}

void add_fields(vtkDataSet* grid, int n_fields, const surrogate_series_field* fields,
                bool unit_in_name) {
    if (n_fields < 0) throw Error(SURROGATE_INVALID_ARGUMENT, "n_fields is negative");
    if (n_fields > 0) require(fields, "fields");
    for (int i = 0; i < n_fields; ++i) add_field(grid, fields[i], unit_in_name);
}

}  // namespace surrogate::vtk
