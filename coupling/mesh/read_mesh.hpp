// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/mesh/mesh_file.hpp"

namespace surrogate::tool {

/// Reads this rank's part of a mesh file. Collective. If every rank can read its part alone (see
/// vtk::MeshFile), it does. Otherwise rank 0 reads the file, cuts it and sends each rank its part.
/// Memory: on rank 0 the mesh, 8 bytes per cell, 16 bytes per point, and three times one part; on
/// other ranks temporarily four times their part, then their part. Throws Failure.
///   axis  of the slabs of an image or structured grid, -1: the longest
vtk::MeshFile read_mesh(const Job& job, const std::string& path, int axis);

/// Returns for each row of this rank's part its row in the whole file; in a parallel file, rows
/// count from the first piece to the last. Collective.
std::vector<int64_t> rows_in_file(const Job& job, const vtk::MeshFile& mesh, int location);

}  // namespace surrogate::tool
