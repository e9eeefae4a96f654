// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sphere/heads_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/base/vector-inl.h"
#include "kernels/sphere/attention.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Normalizes one vector of points of one head: x and y point at its first channel.
HWY_INLINE void normalise_head(int64_t n_dim, const float* g, const float* x, int64_t x_row,
                               float* y, int64_t y_row) {
    Vector square = broadcast(0.0f);
    for (int64_t c = 0; c < n_dim; ++c) {
        const Vector value = load(x + c * x_row);
        square = mul_add(value, value, square);
    }
    const Vector mean = hn::Mul(square, broadcast(1.0f / static_cast<float>(n_dim)));
    const Vector root = hn::Sqrt(hn::Add(mean, broadcast(head_norm_eps<float>)));
    const Vector scale = hn::Div(broadcast(1.0f), root);
    for (int64_t c = 0; c < n_dim; ++c) {
        const Vector unit = hn::Mul(load(x + c * x_row), scale);
        store(hn::Mul(unit, broadcast(1.0f + g[c])), y + c * y_row);
    }
}

void normalise_heads(int64_t n_head, const float* g, Tile<const float> x, Tile<float> y) {
    const int64_t n_dim = x.shape[0] / n_head, n_lane = round_up(x.shape[1], lane_count);
    for (int64_t c = 0; c < x.shape[0]; c += n_dim) {
        for (int64_t i = 0; i < n_lane; i += width)
            normalise_head(n_dim, g, x.data + c * x.stride[0] + i, x.stride[0],
                           y.data + c * y.stride[0] + i, y.stride[0]);
    }
}

}  // namespace
}  // namespace surrogate::kernels::sphere::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::sphere::simd {

void normalise_heads(VectorLevel level, int64_t n_head, const float* g, Tile<const float> x,
                     Tile<float> y) {
    SURROGATE_AT_LEVEL(level, normalise_heads)(n_head, g, x, y);
}

}  // namespace surrogate::kernels::sphere::simd
#endif
