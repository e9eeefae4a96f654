// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "vector3.hpp"

namespace airflow {

/// A closed surface as a map from directions: at(b) is the point of the surface for the direction b
/// from the middle of a box; the length of b does not matter. The map is smooth, one to one, and
/// keeps left and right, so that it maps any closed mesh of the box to a mesh of the body.
struct Body {
    /// Extent of the box whose mesh is mapped to the body; sets the number of points in each
    /// direction.
    Vector3 extent;
    std::function<Vector3(const Vector3&)> at;
};

/// Returns the unit normal that points out of the body, from central differences of the map.
Vector3 normal_at(const Body& body, const Vector3& direction);

/// Returns a sphere around the origin.
Body sphere(double radius);

/// A car. Lengths in m, angles in degrees, the ground is z = 0. The body is symmetric in y.
struct CarShape {
    double length, width, height;  ///< height above the ground
    double clearance;              ///< of the floor above the ground; wheels are lower
    double hood, deck;             ///< heights before and after the cabin, as fractions of `height`
    double windshield;             ///< begin of the windshield, as a fraction of the length
    double roof_end;               ///< begin of the sloping roof, as a fraction of the length
    double windshield_angle;       ///< mean angle of the windshield to the ground
    double rear_angle;             ///< mean angle of the slope after the roof
    double diffuser_angle;         ///< angle by which the floor rises towards the tail
    double tumblehome;             ///< reduction of the cabin's width at the roof, as a fraction
    double roundness;              ///< 3 is round, 6 is a box with rounded edges
    double wheel_radius, wheel_base;
};

/// Returns one of several kinds of cars, from a seed; the same on every machine.
CarShape random_car(uint64_t seed);

/// Returns a text such as "4.31 m long, 1.42 m high, ..".
std::string describe(const CarShape& car);

Body car_body(const CarShape& car);

}  // namespace airflow
