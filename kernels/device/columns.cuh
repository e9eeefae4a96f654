// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/columns.hpp"
#include "kernels/device/products.cuh"

/// Access to the caller's columns. The lane that holds a point reads and writes its values. Values
/// that are not finite, or outside their range, are added to the findings.
namespace surrogate::kernels::cuda {

constexpr float largest_float = 3.402823466e38F;
constexpr double largest_double = 1.7976931348623157e308;

__device__ inline void report(uint64_t* place, int64_t point, int64_t column) {
    atomicMin(reinterpret_cast<unsigned long long*>(place),
              static_cast<unsigned long long>(place_of(point, column)));
}

__device__ inline void raise_to(uint64_t* place, uint64_t value) {
    atomicMax(reinterpret_cast<unsigned long long*>(place), static_cast<unsigned long long>(value));
}

/// Adds the values that the lanes of a warp found outside the range of column c. above and below
/// are ordered_bits() as in DeviceOutside, 0 in lanes without such a value. All lanes must call it.
__device__ inline void count_outside(uint64_t above, uint64_t below, DeviceOutside* columns,
                                     int c) {
    constexpr unsigned all = ~0U;
    const unsigned found = __ballot_sync(all, above != 0 || below != 0);
    if (found == 0) return;  // true in nearly all warps
    for (int step = 16; step > 0; step /= 2) {
        const uint64_t other_above = __shfl_xor_sync(all, above, step);
        const uint64_t other_below = __shfl_xor_sync(all, below, step);
        above = other_above > above ? other_above : above;
        below = other_below > below ? other_below : below;
    }
    if (threadIdx.x % 32 != 0) return;
    DeviceOutside& outside = columns[c];
    atomicAdd(reinterpret_cast<unsigned long long*>(&outside.n),
              static_cast<unsigned long long>(__popc(found)));
    if (above != 0) raise_to(&outside.above, above);
    if (below != 0) raise_to(&outside.below, below);
}

/// Returns true if the run has failed on this rank, or its results are lost on all ranks.
__device__ inline bool is_lost(const DeviceFindings& findings) {
    return findings.poisoned != 0 || findings.not_finite != 0 ||
           findings.bad_input != DeviceFindings::no_place;
}

/// Returns the network's input at a point, and its contribution to the counts. A value that is not
/// finite gives 0 and a finding.
__device__ inline float read_column(const DeviceColumn& column, int64_t point, int64_t index,
                                    DeviceFindings* findings, uint64_t& above, uint64_t& below) {
    const int64_t at = point * column.stride;
    const double value = column.is_double
                             ? static_cast<const double*>(column.data)[at]
                             : static_cast<double>(static_cast<const float*>(column.data)[at]);
    const auto input = static_cast<float>((value - column.mean) / column.std);
    if (fabsf(input) <= largest_float) {
        if (value > column.max) above = ordered_bits(value);
        if (value < column.min) below = ~ordered_bits(value);
        return input;
    }
    report(&findings->bad_input, point, index);
    return 0;
}

/// Writes the caller's value; NaN, and a finding, if its type cannot represent the value.
__device__ inline void write_column(const DeviceColumn& column, int64_t point, int64_t index,
                                    float output, bool lost, DeviceFindings* findings) {
    const double value = static_cast<double>(output) * column.std + column.mean;
    const double largest = column.is_double ? largest_double : static_cast<double>(largest_float);
    const bool fits = fabs(value) <= largest && !lost;
    if (!fits && !lost) report(&findings->bad_output, point, index);
    const double stored = fits ? value : static_cast<double>(as_float(0x7fc00000U));
    const int64_t at = point * column.stride;
    if (column.is_double) {
        static_cast<double*>(column.data)[at] = stored;
    } else {
        static_cast<float*>(column.data)[at] = static_cast<float>(stored);
    }
}

}  // namespace surrogate::kernels::cuda
