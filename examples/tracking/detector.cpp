// SPDX-License-Identifier: Apache-2.0
#include "detector.hpp"

#include <cmath>
#include <numbers>

namespace tracking {

namespace {

using std::numbers::pi;

double sinc(double x) {
    return std::abs(x) < 1e-4 ? 1 - x * x / 6 : std::sin(x) / x;
}

Layer disc(double z) {
    return {false, z, 30, 330};
}
Layer cylinder(double radius) {
    return {true, radius, -550, 550};
}

/// Returns the length to a cylinder: exact from the beam, three steps of Newton's method for an
/// origin beside it.
std::optional<double> length_to_radius(const Helix& helix, double radius) {
    const double turn = std::abs(helix.curvature) * radius / 2;
    if (turn > 0.9) return std::nullopt;
    double length = turn > 1e-9 ? radius * std::asin(turn) / turn : radius;
    for (int step = 0; step < 3; ++step) {
        const Position x = helix.at(length);
        const double direction = helix.azimuth_at(length);
        const double outwards = x[0] * std::cos(direction) + x[1] * std::sin(direction);
        length -= (x[0] * x[0] + x[1] * x[1] - radius * radius) / (2 * outwards);
    }
    return length;
}

}  // namespace

const std::array<Layer, n_layer> layers = {
    disc(-1480),  disc(-1230),  disc(-1030),   disc(-860),    disc(-720),    disc(-600),
    cylinder(32), cylinder(72), cylinder(116), cylinder(172), cylinder(240), cylinder(320),
    disc(600),    disc(720),    disc(860),     disc(1030),    disc(1230),    disc(1480)};

Position Helix::at(double length) const {
    // The chord is shorter than the arc, and turned half as much.
    const double half = curvature * length / 2, chord = length * sinc(half);
    return {origin[0] + chord * std::cos(azimuth + half),
            origin[1] + chord * std::sin(azimuth + half), origin[2] + length * slope};
}

double curvature_of(double momentum, int charge) {
    return -charge * 0.299792458e-3 * field_tesla / momentum;
}

double momentum_of(double curvature) {
    return 0.299792458e-3 * field_tesla / std::abs(curvature);
}

double Layer::area() const {
    return is_barrel ? 2 * pi * at * (high - low) : pi * (high * high - low * low);
}

std::optional<double> Layer::crossing(const Helix& helix) const {
    if (is_barrel) {
        const std::optional<double> length = length_to_radius(helix, at);
        if (!length) return std::nullopt;
        const double z = helix.at(*length)[2];
        return z >= low && z <= high ? length : std::nullopt;
    }
    const double length = (at - helix.origin[2]) / helix.slope;
    if (!(length > 0 && std::abs(helix.curvature) * length < pi)) return std::nullopt;
    const Position x = helix.at(length);
    const double radius = std::hypot(x[0], x[1]);
    if (!(radius >= low && radius <= high)) return std::nullopt;
    return length;
}

}  // namespace tracking
