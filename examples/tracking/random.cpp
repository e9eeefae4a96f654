// SPDX-License-Identifier: Apache-2.0
#include "random.hpp"

#include <cmath>
#include <numbers>

namespace tracking {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const uint64_t p = uint64_t{0xD2511F53} * c[0], q = uint64_t{0xCD9E8D57} * c[2];
        c = {uint32_t(q >> 32) ^ c[1] ^ key[0], uint32_t(q), uint32_t(p >> 32) ^ c[3] ^ key[1],
             uint32_t(p)};
        key[0] += 0x9E3779B9;
        key[1] += 0xBB67AE85;
    }
    return c;
}

std::array<double, 4> Random::uniform(uint32_t draw) const {
    const auto thing = static_cast<uint64_t>(thing_);
    const auto words =
        philox({uint32_t(thing), uint32_t(thing >> 32), draw, static_cast<uint32_t>(stream_)},
               {uint32_t(seed_), uint32_t(seed_ >> 32)});
    std::array<double, 4> numbers{};
    for (std::size_t i = 0; i < 4; ++i) numbers[i] = (double(words[i]) + 0.5) * 0x1p-32;
    return numbers;
}

std::array<double, 4> Random::normal(uint32_t draw) const {
    const std::array<double, 4> u = uniform(draw);
    std::array<double, 4> numbers{};
    for (std::size_t i = 0; i < 4; i += 2) {  // Box and Muller
        const double length = std::sqrt(-2 * std::log(u[i]));
        const double angle = 2 * std::numbers::pi * u[i + 1];
        numbers[i] = length * std::cos(angle);
        numbers[i + 1] = length * std::sin(angle);
    }
    return numbers;
}

}  // namespace tracking
