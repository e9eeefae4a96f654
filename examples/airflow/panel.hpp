// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "vector3.hpp"

namespace airflow {

/// A flat quadrangle with a constant source on it.
struct Panel {
    std::array<Vector3, 4> corner;  ///< counter-clockwise as seen from outside
    Vector3 centre, normal;
    double area = 0;
    double diameter = 0;  ///< the longer diagonal

    /// Returns the quadrangle near four points that may not be in one plane: they are moved along
    /// the normal of their diagonals into the plane of their mean (Hess and Smith 1967).
    static Panel through(const std::array<Vector3, 4>& points);
};

/// Diameters of a panel up to which its shape counts, unless a caller wants something else.
constexpr double usual_near = 8;

/// Returns the velocity at `x` that the panel causes with a source of one (m/s per m/s: volume per
/// area and time), outside the panel or far from it. It is exact up to `near` diameters; beyond,
/// the panel counts as a point, with an error below 1e-3 from its shape at 8 diameters.
///     v = 1 / (4 pi)  integral of (x - y) / |x - y|^3 over the panel
Vector3 source_velocity(const Panel& panel, const Vector3& x, double near = usual_near);

/// Returns the velocity at the panel's own center, on its outer side.
Vector3 own_velocity(const Panel& panel);

}  // namespace airflow
