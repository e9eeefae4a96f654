// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/vtk/summary.hpp"

namespace surrogate::tool {

/// Returns the steps of a series (.pvd) in its order. Files are relative to the working directory,
/// and need not exist. Local. Throws Failure: a missing file, not a series; no step; a time that is
/// missing, not a finite number, or occurs twice; a step that is not a mesh.
std::vector<vtk::SeriesStep> series_steps(const std::string& path);

}  // namespace surrogate::tool
