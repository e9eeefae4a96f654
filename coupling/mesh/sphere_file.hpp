// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/mesh/mesh_geometry.hpp"

namespace surrogate::vtk {

/// A structured file seen as a grid on the sphere: two axes with more than one point, one along
/// circles of latitude, one along meridians, in any order and direction.
struct SphereFile {
    Extent whole = {};
    int lat_axis = 1, lon_axis = 0;  ///< of the file's i, j, k
    bool is_lon_lat = false;         ///< points are (longitude, latitude, radius), else x, y, z
    bool is_closed = false;          ///< the last column repeats the first
    /// Rows at the ends of the file that are no rows of the grid: caps over its poles. `whole` has
    /// them, `latitude` has not.
    int n_cap_before = 0, n_cap_after = 0;
    std::vector<double> latitude;   ///< [rows] degrees north, in the order of the file
    std::vector<double> longitude;  ///< [columns without the repeated one] degrees east without
                                    ///< jumps, in the order of the file: growing or falling
};

/// Reads three lines of points. Throws IO, BAD_FILE, NOT_SUPPORTED (not a grid on the sphere: what
/// was found).
SphereFile read_sphere_file(const std::string& path);

/// The file without the rows that may be caps: those at a pole, of a globe of x, y, z. The same
/// file if it has none.
SphereFile without_caps(SphereFile file);

/// Throws BAD_FILE if points x [n][3] of the block `own` are not where their row and column say.
void check_points(const SphereFile& file, const Extent& own, const std::vector<double>& x);

}  // namespace surrogate::vtk
