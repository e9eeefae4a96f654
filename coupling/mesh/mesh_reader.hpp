// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkSmartPointer.h>

#include <functional>
#include <string>

#include "coupling/mesh/mesh_geometry.hpp"
#include "coupling/vtk/summary.hpp"

class vtkXMLReader;

namespace surrogate::vtk {

/// Kind of mesh by file name: ".vtu" and ".pvtu", ".vti" and ".pvti", ".vtp" and ".pvtp",
/// ".vts" and ".pvts".
struct MeshName {
    GridKind kind;
    bool is_parallel;
};

/// Throws NOT_SUPPORTED with the list of extensions.
MeshName parse_mesh_name(const std::string& path);

/// VTK's reader for the file, which knows what is in it but has read no data. Throws IO (no such
/// file), BAD_FILE (with what VTK says).
vtkSmartPointer<vtkXMLReader> open_mesh(const std::string& path, const MeshName& name);

/// Returns whether any parser may read the XML of `path`: nothing in it is without end. Not
/// whether it is a mesh, or sound.
bool has_bounded_xml(const std::string& path);

/// Reads an image or structured grid. Throws BAD_FILE.
Extent whole_extent(vtkXMLReader* reader, const std::string& path);

/// Runs a step of reading and turns what VTK reports into BAD_FILE.
void reading(const std::string& path, const std::function<void()>& step);

}  // namespace surrogate::vtk
