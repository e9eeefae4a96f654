// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace tracking {

/// Returns four words of 32 bits from a counter and a key by Philox4x32-10 (Salmon et al., 2011),
/// so that any rank can draw any number separately.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Purpose of the numbers; streams are independent of each other.
enum class Stream : uint32_t { particle = 1, collision = 2, hit = 3, noise = 4, jet = 5 };

/// The random numbers of one object of an event: a particle, a collision, ..
class Random {
public:
    Random(uint64_t seed, Stream stream, int64_t thing)
        : seed_(seed), stream_(stream), thing_(thing) {}

    /// Returns four numbers between 0 and 1, both excluded. draw: 0, 1, ..
    std::array<double, 4> uniform(uint32_t draw) const;
    /// Returns four numbers of mean 0 and deviation 1.
    std::array<double, 4> normal(uint32_t draw) const;

private:
    uint64_t seed_;
    Stream stream_;
    int64_t thing_;
};

}  // namespace tracking
