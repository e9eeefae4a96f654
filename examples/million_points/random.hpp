// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace million {

/// Returns a mix of 64 bits in which every bit of the result depends on every bit of x
/// (splitmix64).
constexpr uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/// Returns a number in 0 .. 1, 1 excluded, that is a function of its arguments.
constexpr double uniform(uint64_t seed, uint64_t index) {
    return double(mixed(mixed(seed) ^ index) >> 11) * 0x1p-53;
}

}  // namespace million
