// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "kernels/base/queue.hpp"

namespace surrogate::kernels::simd {

/// Number of counters that philox_rows() takes at once.
constexpr int philox_width = 32;

/// Computes Philox4x32-10 of the counters (row low, row high, third, fourth): words[k][i] receives
/// word k of row i. Bitwise identical on every SIMD instruction set. Source: J. Salmon et al.,
/// "Parallel random numbers: as easy as 1, 2, 3", 2011.
void philox_rows(VectorLevel level, const uint64_t (&rows)[philox_width], uint32_t third,
                 uint32_t fourth, std::array<uint32_t, 2> key, uint32_t (&words)[4][philox_width]);

}  // namespace surrogate::kernels::simd
