// SPDX-License-Identifier: Apache-2.0
#include "points.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "random.hpp"

namespace million {

namespace {

/// Returns the step h that gives n_point points:
///   n = area / h^2 + (length of the edges + half the length of the rings) / h,
/// because positions beside a ring are left empty over half a step.
double step_of(const Plate& plate, int64_t n_point) {
    const double area = plate.area();
    const double border =
        4 * Plate::side + double(plate.pipes.size()) * std::numbers::pi * Plate::radius;
    return 2 * area / (std::sqrt(border * border + 4 * area * double(n_point)) - border);
}

class Scatter {
public:
    Scatter(const Plate& plate, int64_t n_point, uint64_t seed)
        : plate_(plate), seed_(mixed(seed)), step_(step_of(plate, n_point)) {}

    Points points() {
        add_edges();
        for (const Position& pipe : plate_.pipes) add_ring(pipe);
        points_.n_border = int64_t(points_.place.size());
        add_inside();
        return std::move(points_);
    }

private:
    /// Returns up to three tenths of a step to either side.
    double jitter() { return 0.6 * (uniform(seed_, index_++) - 0.5); }

    void add(const Position& place, double distance) {
        points_.place.push_back(place);
        points_.distance.push_back(distance);
    }

    void add_edges() {
        const auto n = int64_t(std::lround(Plate::side / step_));
        for (int side = 0; side < 4; ++side)
            for (int64_t i = 0; i < n; ++i) {
                // The first corner of a side is not moved.
                const double s = (double(i) + (i > 0 ? jitter() : 0)) * Plate::side / double(n);
                const double far = Plate::side;
                const Position places[] = {{s, 0}, {far, s}, {far - s, far}, {0, far - s}};
                add(places[side], plate_.distance(places[side]));
            }
    }

    void add_ring(const Position& pipe) {
        constexpr double turn = 2 * std::numbers::pi;
        const auto n = std::max<int64_t>(8, std::lround(turn * Plate::radius / step_));
        for (int64_t i = 0; i < n; ++i) {
            const double angle = turn * (double(i) + jitter()) / double(n);
            add({pipe.x + Plate::radius * std::cos(angle),
                 pipe.y + Plate::radius * std::sin(angle)},
                0);
        }
    }

    void add_inside() {
        const auto n = int64_t(std::lround(Plate::side / step_));
        const double step = Plate::side / double(n);
        for (int64_t j = 0; j < n; ++j)
            for (int64_t i = 0; i < n; ++i) {
                const double x = (double(i) + 0.5 + jitter()) * step;
                const double y = (double(j) + 0.5 + jitter()) * step;
                const double distance = plate_.distance({x, y});
                if (distance > 0.5 * step) add({x, y}, distance);
            }
    }

    const Plate& plate_;
    uint64_t seed_, index_ = 0;
    double step_;
    Points points_;
};

}  // namespace

Points scatter_points(const Plate& plate, int64_t n_point, uint64_t seed) {
    return Scatter(plate, n_point, seed).points();
}

}  // namespace million
