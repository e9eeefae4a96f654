// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkType.h>

#include <string>

class vtkDataArray;
class vtkXMLDataElement;

namespace surrogate::vtk {

class MeshParser;

/// Returns a text such as "array 'mobility'".
std::string name_of(vtkXMLDataElement* array);

/// Returns true for the offsets of the cells of an unstructured grid or polydata, not for a field
/// named "offsets".
bool is_offsets(vtkXMLDataElement* array);

/// Returns an error text if one of the n cells ends before it begins, or behind `most`, and ""
/// otherwise. VTK allocates as many corners as the last offset states.
std::string offsets_problem(vtkDataArray* offsets, vtkIdType begin, vtkIdType n, int64_t most);

/// Returns an error text unless the data of the array have at least `least` and at most `most`
/// strings, and "" otherwise. VTK stores every string of a block that it has read, also behind the
/// requested ones, and reads beyond the end of the data if there are too few.
std::string strings_problem(MeshParser& parser, vtkXMLDataElement* array, vtkIdType least,
                            vtkIdType most);

}  // namespace surrogate::vtk
