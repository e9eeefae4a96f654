// SPDX-License-Identifier: Apache-2.0
#include "plate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "random.hpp"

namespace million {

namespace {

double between(const Position& a, const Position& b) {
    return std::hypot(a.x - b.x, a.y - b.y);
}

}  // namespace

double Plate::area() const {
    return side * side - double(pipes.size()) * std::numbers::pi * radius * radius;
}

double Plate::distance(const Position& place) const {
    double nearest = std::numeric_limits<double>::infinity();
    for (const Position& pipe : pipes) nearest = std::min(nearest, between(place, pipe) - radius);
    return nearest;
}

Plate random_plate(uint64_t seed) {
    constexpr double edge = 3 * Plate::radius, apart = 5 * Plate::radius;
    constexpr double room = Plate::side - 2 * edge;
    uint64_t index = 0;
    const auto next = [&] { return uniform(seed, index++); };
    Plate plate;
    const auto n_pipe = std::size_t(3 + 6 * next());
    while (plate.pipes.size() < n_pipe) {
        const Position pipe = {edge + room * next(), edge + room * next()};
        if (std::ranges::all_of(
                plate.pipes, [&](const Position& other) { return between(pipe, other) >= apart; }))
            plate.pipes.push_back(pipe);
    }
    return plate;
}

}  // namespace million
