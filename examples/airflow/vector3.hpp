// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace airflow {

/// A point or a direction: x along the wind (from nose to tail), y across, z up.
struct Vector3 {
    double x = 0, y = 0, z = 0;

    Vector3& operator+=(const Vector3& b) {
        x += b.x, y += b.y, z += b.z;
        return *this;
    }
};

inline Vector3 operator+(Vector3 a, const Vector3& b) {
    return a += b;
}
inline Vector3 operator-(const Vector3& a, const Vector3& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
inline Vector3 operator*(double s, const Vector3& a) {
    return {s * a.x, s * a.y, s * a.z};
}
inline double dot(const Vector3& a, const Vector3& b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
inline Vector3 cross(const Vector3& a, const Vector3& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double norm(const Vector3& a) {
    return std::sqrt(dot(a, a));
}
inline Vector3 unit(const Vector3& a) {
    return (1 / norm(a)) * a;
}

}  // namespace airflow
