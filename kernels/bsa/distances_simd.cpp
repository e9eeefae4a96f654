// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bsa/distances_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/base/vector-inl.h"
#include "kernels/bsa/bsa.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::bsa::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

void distances(Tile<const float> a, Tile<const float> b, Tile<float> distance) {
    const int64_t n_lane = round_up(a.shape[1], lane_count);
    for (int64_t j = 0; j < b.shape[1]; ++j) {
        for (int64_t i = 0; i < n_lane; i += width) {
            Vector square = broadcast(0.0f);
            for (int64_t axis = 0; axis < a.shape[0]; ++axis) {
                const Vector x = load(a.data + axis * a.stride[0] + i);
                const Vector difference = hn::Sub(broadcast(b(axis, j)), x);
                square = mul_add(difference, difference, square);
            }
            store(hn::Sqrt(square), distance.data + j * distance.stride[0] + i);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::bsa::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::bsa::simd {

void distances(VectorLevel level, Tile<const float> a, Tile<const float> b, Tile<float> distance) {
    SURROGATE_AT_LEVEL(level, distances)(a, b, distance);
}

}  // namespace surrogate::kernels::bsa::simd
#endif
