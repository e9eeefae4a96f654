// SPDX-License-Identifier: Apache-2.0
#include "random.hpp"

#include <cmath>
#include <numbers>

namespace darcy {

namespace {

/// Returns splitmix64 of x: every bit of the input affects every bit of the result.
uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

}  // namespace

double uniform(uint64_t seed, uint64_t index) {
    return (double(mix(mix(seed) ^ index) >> 11) + 0.5) * 0x1p-53;
}

/// Returns a normal number, by Box and Muller.
double normal(uint64_t seed, uint64_t index) {
    const double radius = std::sqrt(-2 * std::log(uniform(seed, 2 * index)));
    return radius * std::cos(2 * std::numbers::pi * uniform(seed, 2 * index + 1));
}

}  // namespace darcy
