// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>

namespace surrogate::impl {

/// The least and the largest value of a field; of none: inf, -inf.
struct FieldRange {
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();

    /// Extends the range by a finite value. Zero has no sign here, so that the order of values does
    /// not matter.
    void note(double value) {
        min = std::min(min, value + 0.0);
        max = std::max(max, value + 0.0);
    }
    void join(const FieldRange& other) {
        min = std::min(min, other.min);
        max = std::max(max, other.max);
    }
    bool operator==(const FieldRange&) const = default;
};

}  // namespace surrogate::impl
