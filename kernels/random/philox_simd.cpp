// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/random/philox_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/random/philox.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

using simd::philox_width;

/// Plain loops, which the compiler vectorizes for each instruction set.
void philox_rows(const uint64_t* rows, uint32_t third, uint32_t fourth, uint32_t key0,
                 uint32_t key1, uint32_t (*c)[philox_width]) {
    constexpr uint32_t m0 = 0xD2511F53, m2 = 0xCD9E8D57;
    for (int i = 0; i < philox_width; ++i) {
        c[0][i] = static_cast<uint32_t>(rows[i]);
        c[1][i] = static_cast<uint32_t>(rows[i] >> 32);
        c[2][i] = third;
        c[3][i] = fourth;
    }
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < philox_width; ++i) {
            const auto high0 = static_cast<uint32_t>(uint64_t{m0} * c[0][i] >> 32);
            const auto high2 = static_cast<uint32_t>(uint64_t{m2} * c[2][i] >> 32);
            const uint32_t low0 = m0 * c[0][i], low2 = m2 * c[2][i];
            c[0][i] = high2 ^ c[1][i] ^ key0;
            c[1][i] = low2;
            c[2][i] = high0 ^ c[3][i] ^ key1;
            c[3][i] = low0;
        }
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
    }
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void philox_rows(VectorLevel level, const uint64_t (&rows)[philox_width], uint32_t third,
                 uint32_t fourth, std::array<uint32_t, 2> key, uint32_t (&words)[4][philox_width]) {
    SURROGATE_AT_LEVEL(level, philox_rows)(rows, third, fourth, key[0], key[1], words);
}

}  // namespace surrogate::kernels::simd
#endif
