// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace million {

struct Position {
    double x, y;  // m
};

/// A cross section of a block of concrete that produces heat while it sets: a square of one meter
/// with holes, the cooling pipes.
struct Plate {
    static constexpr double side = 1, radius = 0.04;  // m
    std::vector<Position> pipes;                      ///< their centers

    double area() const;  ///< m^2 of concrete
    double distance(
        const Position& place) const;  ///< m to the wall of the nearest pipe; inside of it < 0
};

/// Returns a plate with three to eight pipes, at center distances of five radii or more, and three
/// radii to the edges. The same plate for the same seed.
Plate random_plate(uint64_t seed);

}  // namespace million
