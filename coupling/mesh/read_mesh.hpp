// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/job/job.hpp"
#include "coupling/mesh/mesh_file.hpp"

namespace surrogate::tool {

/// This rank's share of a mesh file. Collective. Where every rank can read what it needs (see
/// vtk::MeshFile), it does; everything else is read by rank 0 alone, which cuts it and sends each
/// rank its part. Memory: on rank 0 the mesh, 8 bytes a cell, 16 a point, and three times one part;
/// on others four times their part for a moment, then their part. Throws Failure.
///   axis  of the slabs of an image or structured grid, -1: the longest
vtk::MeshFile read_mesh(const Job& job, const std::string& path, int axis);

}  // namespace surrogate::tool
