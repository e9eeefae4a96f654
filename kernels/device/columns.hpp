// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

/// The caller's columns as passes on a device read and write them, and the records of invalid
/// values.
namespace surrogate::kernels {

/// A column of the caller's memory on the device: network input = (value - mean) / std, prediction
/// = value * std + mean, in double. Inputs outside min .. max are counted.
struct DeviceColumn {
    void* data = nullptr;
    int64_t stride = 1;  ///< elements between points
    double mean = 0, std = 1;
    int32_t is_double = 0;
    double min = -std::numeric_limits<double>::infinity();
    double max = std::numeric_limits<double>::infinity();

    bool operator==(const DeviceColumn&) const = default;
};

/// Largest number of columns that place_of() distinguishes; the code that sets columns up rejects
/// more.
constexpr int64_t max_columns = 256;

/// Returns a point and a column of it as one number, ordered by points first.
constexpr uint64_t place_of(int64_t point, int64_t column) {
    return static_cast<uint64_t>(max_columns * point + column);
}
constexpr int64_t point_of_place(uint64_t place) {
    return static_cast<int64_t>(place / max_columns);
}
constexpr int64_t column_of_place(uint64_t place) {
    return static_cast<int64_t>(place % max_columns);
}

/// Errors that a run detects on the device. A place is place_of() of the smallest invalid point, or
/// no_place.
struct DeviceFindings {
    static constexpr uint64_t no_place = ~uint64_t{0};
    uint64_t bad_input = no_place;   ///< not finite after normalization
    uint64_t bad_output = no_place;  ///< not finite in the type of its array
    int32_t poisoned = 0;            ///< nonzero: this rank sends NaN instead of its sums
    int32_t not_finite = 0;          ///< nonzero: sums of some rank were not finite
};

/// Inputs of a column outside its range that are finite after normalization. The caller clears it.
struct DeviceOutside {
    uint64_t n = 0;
    uint64_t above = 0;  ///< ordered_bits() of the largest value above max; 0: none
    uint64_t below = 0;  ///< ~ordered_bits() of the smallest value below min; 0: none
};

/// Returns an integer that grows with the number, NaN excepted; never 0 or ~0 for other numbers.
constexpr uint64_t ordered_bits(double value) {
    constexpr uint64_t sign = uint64_t{1} << 63;
    const auto bits = std::bit_cast<uint64_t>(value);
    return (bits & sign) != 0 ? ~bits : bits | sign;
}
constexpr double from_ordered_bits(uint64_t bits) {
    constexpr uint64_t sign = uint64_t{1} << 63;
    return std::bit_cast<double>((bits & sign) != 0 ? bits ^ sign : ~bits);
}

}  // namespace surrogate::kernels
