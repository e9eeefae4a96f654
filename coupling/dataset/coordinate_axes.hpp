// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace surrogate::dataset {

/// Values of the attribute `axis` of coordinates: X, Y and Z as in CF, numbers for the further
/// coordinates of a network.
constexpr std::array<const char*, 8> coordinate_axes = {"X", "Y", "Z", "4", "5", "6", "7", "8"};

/// Returns the index of a value of `axis`; the number of values if it is not one of them.
inline size_t index_of_axis(const std::string& axis) {
    const auto* const at = std::find(coordinate_axes.begin(), coordinate_axes.end(), axis);
    return static_cast<size_t>(at - coordinate_axes.begin());
}

/// Lists the values in messages.
constexpr const char* coordinate_axes_text = "X, Y, Z or 4 to 8";

}  // namespace surrogate::dataset
