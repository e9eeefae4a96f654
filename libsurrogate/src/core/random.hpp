// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace surrogate::impl {

/// Computes Philox4x32-10: four words of 32 bits from a counter and a key. Source: J. Salmon et
/// al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Random numbers that can be drawn in any order, by any rank: number i of a stream follows from
/// seed, stream and i alone.
class Random {
public:
    /// Selects a stream: the use of the numbers; streams of a seed are independent of each other.
    Random(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

    uint64_t bits(int64_t i) const;
    /// Returns a number between 0 and 1, both excluded.
    double uniform(int64_t i) const;
    /// Returns a normal number of mean 0 and deviation 1. Uses libm: equal only on machines with
    /// the same one.
    double normal(int64_t i) const;
    /// Returns one of 0 .. n - 1; 1 <= n <= 2^31.
    int64_t below(int64_t n, int64_t i) const;

private:
    uint64_t seed_, stream_;
};

}  // namespace surrogate::impl
