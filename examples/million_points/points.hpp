// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plate.hpp"

namespace million {

/// Scattered points of a plate: on its edges, around its pipes, then the points between, row by
/// row.
struct Points {
    std::vector<Position> place;
    std::vector<double> distance;  ///< m to the nearest pipe; exactly 0 around a pipe
    int64_t n_border = 0;          ///< number of points on edges and around pipes: the first ones
};
Points scatter_points(const Plate& plate, int64_t n_point, uint64_t seed);

}  // namespace million
