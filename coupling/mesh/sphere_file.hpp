// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/mesh/mesh_geometry.hpp"

namespace surrogate::vtk {

/// A structured file as a grid on the sphere: two axes with more than one point, one along circles
/// of latitude, one along meridians, in any order and direction.
struct SphereFile {
    Extent whole = {};
    int lat_axis = 1, lon_axis = 0;  ///< of the file's i, j, k
    bool is_lon_lat = false;         ///< points are (longitude, latitude, radius), else x, y, z
    bool is_closed = false;          ///< the last column repeats the first
    /// Rows at the ends of the file that are not rows of the grid but caps over its poles. `whole`
    /// includes them, `latitude` does not.
    int n_cap_before = 0, n_cap_after = 0;
    std::vector<double> latitude;   ///< [rows] degrees north, in the order of the file
    std::vector<double> longitude;  ///< [columns without the repeated one] degrees east without
                                    ///< jumps, in the order of the file: growing or falling
};

/// Reads three lines of points. Throws IO, BAD_FILE, or NOT_SUPPORTED if the file is not a grid on
/// the sphere, with a description of the file.
SphereFile read_sphere_file(const std::string& path);

/// Returns the file without rows that may be caps: rows at a pole of a globe with points x, y, z.
/// Returns the same file if it has none.
SphereFile without_caps(SphereFile file);

/// Throws BAD_FILE if points x [n][3] of the block `own` do not match their row and column.
void check_points(const SphereFile& file, const Extent& own, const std::vector<double>& x);

}  // namespace surrogate::vtk
