// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>

#include <string>
#include <vector>

#include "plate.hpp"

namespace million {

/// All triangles of a plate on one rank, which creates or reads them.
struct WholeMesh {
    std::vector<Position> place;
    std::vector<double> distance;   ///< m to the nearest pipe; 0 on the wall of a pipe
    std::vector<PetscInt> corners;  ///< three points per triangle

    int64_t n_point() const { return int64_t(place.size()); }
    int64_t n_cell() const { return int64_t(corners.size()) / 3; }
};

/// Creates about n_point points all over the plate, with the spacing of a square grid and moved at
/// random by up to three tenths of it, with rings around the pipes; joined by VTK's Delaunay
/// triangulation. The mesh is the same for the same arguments.
/// Throws std::runtime_error if a pipe or an edge does not consist of sides of triangles.
WholeMesh make_mesh(const Plate& plate, int64_t n_point, uint64_t seed);

/// Write and read a serial .vtu, with the array `distance` and its unit. Throw std::runtime_error
/// for errors of VTK, cells that are not triangles, and a missing array `distance`.
void write_mesh(const std::string& path, const WholeMesh& mesh);
WholeMesh read_mesh(const std::string& path);

}  // namespace million
