// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>

#include "coupling/error/error.hpp"

namespace surrogate::coupling {

/// Describes an axis of an array in host memory. The stride is counted in numbers.
struct Axis {
    int64_t extent = 1, stride = 0;
};

/// Returns the stride of points that are `step` rows apart; the largest number if it does not fit.
inline int64_t stepped(int64_t stride, int64_t step) {
    int64_t product = 0;
    return __builtin_mul_overflow(stride, step, &product) ? std::numeric_limits<int64_t>::max()
                                                          : product;
}

/// Returns true if no two numbers share memory: ordered by size, each stride exceeds the distance
/// that the smaller strides span. Every section of a dense array passes. Extents are at least 1,
/// distances below 2^62.
inline bool is_distinct(std::span<const Axis> axes) {
    for (size_t a = 0; a < axes.size(); ++a) {
        if (axes[a].extent == 1) continue;
        const int64_t step = std::abs(axes[a].stride);
        int64_t span = 0;
        for (size_t b = 0; b < axes.size(); ++b) {
            if (axes[b].extent == 1) continue;
            const int64_t other = std::abs(axes[b].stride);
            if (other < step || (other == step && b < a)) span += other * (axes[b].extent - 1);
        }
        if (step <= span) return false;
    }
    return true;
}

/// Throws LIMIT if the numbers have more than 2^62 bytes, and SHAPE if strides lead out of the
/// address space, or if is_written and numbers share memory. Extents are at least 1.
inline void check_axes(const std::string& what, std::span<const Axis> axes, int64_t number_bytes,
                       bool is_written) {
    constexpr double most_bytes = 4611686018427387904.0;  // 2^62
    auto n_byte = static_cast<double>(number_bytes);
    double reach = 0;
    std::string strides;
    for (const Axis& axis : axes) {
        n_byte *= static_cast<double>(axis.extent);
        reach += std::abs(static_cast<double>(axis.stride)) * static_cast<double>(axis.extent - 1) *
                 static_cast<double>(number_bytes);
        strides += (strides.empty() ? "" : ", ") + std::to_string(axis.stride);
    }
    if (n_byte > most_bytes) fail(SURROGATE_LIMIT, what + ": the array has more than 2^62 bytes");
    if (reach >= most_bytes)
        fail(SURROGATE_SHAPE, what + ": strides (" + strides +
                                  ") lead out of the address space; they are counted in numbers "
                                  "from one to the next along an axis");
    if (is_written && !is_distinct(axes))
        fail(SURROGATE_SHAPE, what + ": strides (" + strides +
                                  ") let numbers share memory; each number that is written needs "
                                  "its own");
}

}  // namespace surrogate::coupling
