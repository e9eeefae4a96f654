// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace surrogate::vtk {

/// The files that reading a mesh touches: the file itself, then the pieces that a parallel one
/// names. Only names are read, and none has to exist; of a file that is no XML those before the
/// fault. Throws NOT_SUPPORTED for a name that is no mesh.
std::vector<std::string> files_of_mesh(const std::string& path);

/// Returns what a series (.pvd) names: files, as files_of_mesh() does, and the texts of their
/// times, "" where there is none. Throws BAD_FILE for a file that is no series or is cut off.
std::vector<std::pair<std::string, std::string>> entries_of_series(const std::string& path);

}  // namespace surrogate::vtk
