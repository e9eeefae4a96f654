// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace surrogate::vtk {

/// The files that reading a mesh touches: the file itself, then the pieces that a parallel one
/// names. Only names are read, and none has to exist; of a file that is no XML those before the
/// fault. Throws NOT_SUPPORTED for a name that is no mesh.
std::vector<std::string> files_of_mesh(const std::string& path);

/// The files that a series (.pvd) names, one a step, as files_of_mesh() does.
std::vector<std::string> files_of_series(const std::string& path);

}  // namespace surrogate::vtk
