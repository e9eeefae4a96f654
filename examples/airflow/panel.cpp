// SPDX-License-Identifier: Apache-2.0
#include "panel.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace airflow {

namespace {

using std::numbers::pi;

Vector3 centroid(const std::array<Vector3, 4>& c) {
    const double first = norm(cross(c[1] - c[0], c[2] - c[0]));
    const double second = norm(cross(c[2] - c[0], c[3] - c[0]));
    const Vector3 a = (1.0 / 3) * (c[0] + c[1] + c[2]), b = (1.0 / 3) * (c[0] + c[2] + c[3]);
    return 1 / (first + second) * (first * a + second * b);
}

/// Returns the component in the plane of the panel: the integral of (x - y) / |x - y|^3 is, by
/// Gauss, a sum over edges of (normal of the edge) * (integral of 1 / |x - y| along the edge).
Vector3 from_edges(const Panel& panel, const std::array<Vector3, 4>& to,
                   const std::array<double, 4>& r) {
    Vector3 sum;
    for (int e = 0; e < 4; ++e) {
        const int f = (e + 1) % 4;
        const Vector3 edge = to[f] - to[e];
        const double length = norm(edge);
        // On the edge itself the integral is infinite; the neighbors of a panel are never evaluated
        // there.
        const double log = std::log((r[e] + r[f] + length) / std::max(r[e] + r[f] - length, 1e-14));
        sum += log / length * cross(edge, panel.normal);
    }
    return sum;
}

/// Returns the component across the plane: the solid angle of a triangle (Van Oosterom and Strackee
/// 1983), positive for points on the inner side.
double solid_angle(const Vector3& a, const Vector3& b, const Vector3& c, double ra, double rb,
                   double rc) {
    const double above = dot(a, cross(b, c));
    const double below = ra * rb * rc + dot(a, b) * rc + dot(b, c) * ra + dot(c, a) * rb;
    return 2 * std::atan2(above, below);
}

}  // namespace

Panel Panel::through(const std::array<Vector3, 4>& points) {
    Panel panel;
    const Vector3 d = points[2] - points[0], e = points[3] - points[1];
    const Vector3 n = cross(d, e);
    panel.normal = unit(n);
    panel.area = norm(n) / 2;
    panel.diameter = std::max(norm(d), norm(e));
    const Vector3 mean = 0.25 * (points[0] + points[1] + points[2] + points[3]);
    for (int c = 0; c < 4; ++c)
        panel.corner[c] = points[c] - dot(points[c] - mean, panel.normal) * panel.normal;
    panel.centre = centroid(panel.corner);
    return panel;
}

Vector3 source_velocity(const Panel& panel, const Vector3& x, double near) {
    const Vector3 away = x - panel.centre;
    const double square = dot(away, away);
    if (square > near * near * panel.diameter * panel.diameter)
        return panel.area / (4 * pi * square * std::sqrt(square)) * away;
    std::array<Vector3, 4> to;
    std::array<double, 4> r{};
    for (int c = 0; c < 4; ++c) {
        to[c] = panel.corner[c] - x;
        r[c] = norm(to[c]);
    }
    const double angle = solid_angle(to[0], to[1], to[2], r[0], r[1], r[2]) +
                         solid_angle(to[0], to[2], to[3], r[0], r[2], r[3]);
    return 1 / (4 * pi) * (from_edges(panel, to, r) - angle * panel.normal);
}

Vector3 own_velocity(const Panel& panel) {
    Vector3 v = source_velocity(panel, panel.centre);
    return v + (0.5 - dot(v, panel.normal)) * panel.normal;
}

}  // namespace airflow
