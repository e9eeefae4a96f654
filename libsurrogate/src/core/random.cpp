// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/core/random.hpp"

#include <cmath>
#include <numbers>

namespace surrogate::impl {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
    const auto high = [](uint64_t product) { return static_cast<uint32_t>(product >> 32); };
    const auto low = [](uint64_t product) { return static_cast<uint32_t>(product); };
    for (int round = 0; round < 10; ++round) {
        const uint64_t first = uint64_t{0xD2511F53} * c[0], second = uint64_t{0xCD9E8D57} * c[2];
        c = {high(second) ^ c[1] ^ key[0], low(second), high(first) ^ c[3] ^ key[1], low(first)};
        key[0] += 0x9E3779B9;
        key[1] += 0xBB67AE85;
    }
    return c;
}

uint64_t Random::bits(int64_t i) const {
    const auto n = static_cast<uint64_t>(i);
    const auto words =
        philox({static_cast<uint32_t>(n), static_cast<uint32_t>(n >> 32),
                static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)},
               {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    return uint64_t{words[0]} << 32 | words[1];
}

double Random::uniform(int64_t i) const {
    return (static_cast<double>(bits(i) >> 12) + 0.5) * 0x1p-52;
}

/// Box and Muller; numbers 2 i and 2 i + 1 are a pair.
double Random::normal(int64_t i) const {
    const int64_t pair = i & ~int64_t{1};
    const double length = std::sqrt(-2 * std::log(uniform(pair)));
    const double angle = 2 * std::numbers::pi * uniform(pair + 1);
    return length * (i == pair ? std::cos(angle) : std::sin(angle));
}

/// The uneven rest is below n / 2^32 of all.
int64_t Random::below(int64_t n, int64_t i) const {
    return static_cast<int64_t>((bits(i) >> 32) * static_cast<uint64_t>(n) >> 32);
}

}  // namespace surrogate::impl
