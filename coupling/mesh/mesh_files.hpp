// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace surrogate::vtk {

/// Returns the files that reading a mesh opens: the file itself, then the pieces of a parallel
/// file. Reads only names; the pieces need not exist. For a file with invalid XML, returns the
/// names before the error. Throws NOT_SUPPORTED for a name that is not a mesh name.
std::vector<std::string> files_of_mesh(const std::string& path);

/// Returns the entries of a series (.pvd): files, as files_of_mesh(), and the texts of their times,
/// "" without one. Throws BAD_FILE for a file that is not a series or is truncated.
std::vector<std::pair<std::string, std::string>> entries_of_series(const std::string& path);

}  // namespace surrogate::vtk
