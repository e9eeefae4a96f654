// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "vector3.hpp"

namespace airflow {

/// A closed surface as a map from directions: at(b) is the point of the surface that belongs to the
/// direction b from the middle of a box; the length of b does not matter. The map is smooth, one to
/// one, and keeps left and right, so that any closed mesh of the box becomes one of the body.
struct Body {
    Vector3
        extent;  ///< of the box whose mesh the body takes: how many points go into each direction
    std::function<Vector3(const Vector3&)> at;
};

/// The unit normal that points out of the body: from central differences of the map.
Vector3 normal_at(const Body& body, const Vector3& direction);

/// A sphere around the origin.
Body sphere(double radius);

/// A car. Lengths in m, angles in degrees, the ground is z = 0. The body is symmetric in y.
struct CarShape {
    double length, width, height;  ///< height above the ground
    double clearance;              ///< of the floor above the ground; wheels reach further down
    double hood, deck;  ///< heights in front of the cabin and behind it, as shares of `height`
    double windshield;  ///< where the windshield begins, as a share of the length
    double roof_end;    ///< where the roof begins to fall, likewise
    double windshield_angle;  ///< of the windshield against the ground, its mean
    double rear_angle;        ///< of the fall behind the roof, its mean
    double diffuser_angle;    ///< by which the floor rises towards the tail
    double tumblehome;        ///< by how much the cabin is narrower at the roof, as a share
    double roundness;         ///< 3 is round, 6 is a box with rounded edges
    double wheel_radius, wheel_base;
};

/// Cars of different kinds, from a seed; the same everywhere.
CarShape random_car(uint64_t seed);

/// "4.31 m long, 1.42 m high, .."
std::string describe(const CarShape& car);

Body car_body(const CarShape& car);

}  // namespace airflow
