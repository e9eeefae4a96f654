// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>

#include <string>
#include <vector>

#include "plate.hpp"

namespace million {

/// Triangles of a plate, all in one place: what one rank makes, or reads.
struct WholeMesh {
    std::vector<Place> place;
    std::vector<double> distance;   ///< m to the nearest pipe; 0 on the wall of a pipe
    std::vector<PetscInt> corners;  ///< three points a triangle

    int64_t n_point() const { return int64_t(place.size()); }
    int64_t n_cell() const { return int64_t(corners.size()) / 3; }
};

/// About n_point points all over the plate, as far from each other as in a square lattice and moved
/// at random by up to three tenths of that, with rings around the pipes; joined by VTK's Delaunay
/// triangulation. The same mesh for the same arguments.
/// Throws std::runtime_error if a pipe or an edge is no row of sides of triangles.
WholeMesh make_mesh(const Plate& plate, int64_t n_point, uint64_t seed);

/// Writes and reads a serial .vtu, with the array `distance` and its unit. Errors throw
/// std::runtime_error: what VTK says, cells that are no triangles, no array `distance`.
void write_mesh(const std::string& path, const WholeMesh& mesh);
WholeMesh read_mesh(const std::string& path);

}  // namespace million
