// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout.hpp"
#include "legendre.hpp"

namespace shallow_water {

/// Returns a field [n_lat][n_lon] seen from far above a point (radians): n_pixel x n_pixel values
/// [row from the bottom][column], bilinear between the nodes, beyond the outermost rows constant
/// along a meridian, NaN around the disk.
std::vector<double> orthographic(const Latitudes& latitudes, const std::vector<double>& field,
                                 double latitude, double longitude, int64_t n_pixel);

/// One disk of a figure.
struct Disk {
    const double* field;  ///< [n_row][n_lon] of this rank
    double min, max;      ///< ends of the color map, which is blue, white, red
    const char* title;
};

/// Draws fields (vorticity) side by side as seen from far above the middle of the storm: longitude
/// 180, 45 degrees north, or south if the first field is stronger there. Rank 0 writes a PNG file
/// and throws std::runtime_error. Collective.
void write_picture(const Layout& layout, const Latitudes& latitudes, const std::string& path,
                   const std::string& heading, const std::vector<Disk>& disks);

}  // namespace shallow_water
