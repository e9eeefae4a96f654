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

/// Creates VTK's reader for the file, which has read the metadata but no data. Throws IO (missing
/// file) or BAD_FILE (with the text of VTK).
vtkSmartPointer<vtkXMLReader> open_mesh(const std::string& path, const MeshName& name);

/// Returns true if any parser may read the XML of `path`, because all its parts are bounded. Does
/// not check that it is a valid mesh.
bool has_bounded_xml(const std::string& path);

/// Returns the whole extent of an image or structured grid. Throws BAD_FILE.
Extent whole_extent(vtkXMLReader* reader, const std::string& path);

/// Runs a step of reading and converts errors that VTK reports to BAD_FILE.
void reading(const std::string& path, const std::function<void()>& step);

}  // namespace surrogate::vtk
