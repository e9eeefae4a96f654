// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkSmartPointer.h>

#include "coupling/mesh/mesh_reader.hpp"

class vtkXMLReader;

namespace surrogate::vtk {

/// Creates VTK's reader for the kind of file, with checks of data that VTK would use unchecked: the
/// elements (MeshHead), the sizes of compressed blocks, each copy into an array, and faces of
/// polyhedra; also for the pieces of a parallel file. An error is thrown as Error(BAD_FILE) from
/// Update(), before VTK continues (its own error messages use pointers that may be null). The
/// reader must not be used afterwards.
vtkSmartPointer<vtkXMLReader> make_checked_reader(const MeshName& name);

}  // namespace surrogate::vtk
