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

    /// The quadrangle next to four points that need not lie in a plane: they are moved along the
    /// normal of their diagonals into the plane of their mean (Hess and Smith 1967).
    static Panel through(const std::array<Vector3, 4>& points);
};

/// The velocity at `x` that the panel causes with a source of one (m/s per m/s: volume per area and
/// time), outside the panel or far from it. Exact, but beyond 8 diameters, where the panel counts
/// as a point: its own shape is then felt by less than 1e-3.
///     v = 1 / (4 pi)  integral of (x - y) / |x - y|^3 over the panel
Vector3 source_velocity(const Panel& panel, const Vector3& x);

/// The same at the panel's own centre, on its outer side.
Vector3 own_velocity(const Panel& panel);

}  // namespace airflow
