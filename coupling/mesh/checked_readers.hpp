// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkSmartPointer.h>

#include "coupling/mesh/mesh_reader.hpp"

class vtkXMLReader;

namespace surrogate::vtk {

/// VTK's reader for the kind of file, with checks where it would trust the file: the elements
/// (MeshHead), the sizes of compressed blocks, each copy into an array, and faces of polyhedra;
/// the same for the pieces of a parallel file. What is wrong is thrown as Error(BAD_FILE) out of
/// Update(), before VTK goes on with it (its own error messages use pointers that may be null);
/// the reader must not be used after that.
vtkSmartPointer<vtkXMLReader> make_checked_reader(const MeshName& name);

}  // namespace surrogate::vtk
