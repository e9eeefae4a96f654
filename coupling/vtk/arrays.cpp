// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/arrays.hpp"

#include <vtkCellData.h>
#include <vtkDataArray.h>
#include <vtkDataSet.h>
#include <vtkInformation.h>
#include <vtkInformationStringKey.h>
#include <vtkPointData.h>

namespace surrogate::vtk {

namespace {

/// Returns VTK's XML name of a type by its size, because the size of "long" depends on the
/// platform.
std::string type_name(vtkDataArray* array) {
    const int type = array->GetDataType();
    if (type == VTK_FLOAT) return "Float32";
    if (type == VTK_DOUBLE) return "Float64";
    const bool is_unsigned = array->GetDataTypeMin() >= 0;
    return (is_unsigned ? "UInt" : "Int") + std::to_string(8 * array->GetDataTypeSize());
}

std::string unit_of(vtkDataArray* array) {
    if (!array->HasInformation() || !array->GetInformation()->Has(vtkDataArray::UNITS_LABEL()))
        return "";
    return array->GetInformation()->Get(vtkDataArray::UNITS_LABEL());
}

}  // namespace

vtkDataSetAttributes* attributes_of(vtkDataSet* grid, int location) {
    if (location == SURROGATE_POINT) return grid->GetPointData();
    return grid->GetCellData();
}

std::vector<ArrayInfo> arrays_of(vtkDataSet* grid, int location) {
    auto* attributes = attributes_of(grid, location);
    std::vector<ArrayInfo> list;
    for (int i = 0; i < attributes->GetNumberOfArrays(); ++i) {
        vtkDataArray* array = attributes->GetArray(i);
        if (array == nullptr || array->GetName() == nullptr) continue;  // an array of strings
        list.push_back({array->GetName(), type_name(array), array->GetNumberOfComponents(),
                        unit_of(array), array == attributes->GetGlobalIds()});
    }
    return list;
}

}  // namespace surrogate::vtk
