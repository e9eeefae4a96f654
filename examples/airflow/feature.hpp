// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "vector3.hpp"

namespace airflow {

/// Inputs of the model that are fields, with the names of its card, in the order of feature_of().
constexpr const char* feature_names[] = {"along",        "across",        "height",
                                         "normal.along", "normal.across", "normal.up"};
constexpr const char* feature_units[] = {"m", "m", "m", "1", "1", "1"};
constexpr int n_feature = 6;

/// Returns the inputs of a point. The body is symmetric, so the model is trained on one side only:
/// left counts as right.
inline std::array<double, n_feature> feature_of(const Vector3& place, const Vector3& normal) {
    const double side = place.y < 0 ? -1 : 1;
    return {place.x, side * place.y, place.z, normal.x, side * normal.y, normal.z};
}

}  // namespace airflow
