// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkType.h>

#include <string>

class vtkDataArray;
class vtkXMLDataElement;

namespace surrogate::vtk {

class MeshParser;

/// "array 'mobility'"
std::string name_of(vtkXMLDataElement* array);

/// Ends of the cells of an unstructured grid or polydata, not a field that is called "offsets".
bool is_offsets(vtkXMLDataElement* array);

/// "" or which of the n cells ends before it begins, or behind `most`: VTK allocates as many
/// corners as the last offset says.
std::string offsets_problem(vtkDataArray* offsets, vtkIdType begin, vtkIdType n, int64_t most);

/// "" if the data of the array are at least `least` and at most `most` strings. VTK stores every
/// string of a block that it has read, also behind those it wants, and reads on at the end of the
/// data if there are too few.
std::string strings_problem(MeshParser& parser, vtkXMLDataElement* array, vtkIdType least,
                            vtkIdType most);

}  // namespace surrogate::vtk
