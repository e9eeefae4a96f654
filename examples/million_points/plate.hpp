// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace million {

struct Place {
    double x, y;  // m
};

/// A block of concrete that heats while it sets, cut across: a square of one metre with holes, the
/// cooling pipes.
struct Plate {
    static constexpr double side = 1, radius = 0.04;  // m
    std::vector<Place> pipes;                         ///< their centres

    double area() const;  ///< m^2 of concrete
    double distance(
        const Place& place) const;  ///< m to the wall of the nearest pipe; inside of it < 0
};

/// Three to eight pipes, from centre to centre five radii or more, to the edges three. The same
/// plate for the same seed.
Plate random_plate(uint64_t seed);

}  // namespace million
