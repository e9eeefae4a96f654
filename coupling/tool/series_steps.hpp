// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/vtk/summary.hpp"

namespace surrogate::tool {

/// The steps of a series (.pvd) in its order; files lead from the working folder, and need not
/// exist. Local. Throws Failure: a file that is not there or no series; no step; a time that is
/// missing, no finite number, or comes twice; a step that is no mesh.
std::vector<vtk::SeriesStep> series_steps(const std::string& path);

}  // namespace surrogate::tool
