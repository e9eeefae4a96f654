// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/moments_backward_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/base/vector-inl.h"
#include "kernels/norm/moments_backward.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

using WideTag = hn::ScalableTag<double>;
using Wide = hn::Vec<WideTag>;
using HalfTag = hn::Rebind<float, WideTag>;

constexpr int wide_width = static_cast<int>(HWY_LANES(double));
constexpr int n_part = static_cast<int>(lane_count) / wide_width;

/// Partial sums over the points i = 0, 16, 32, .., over 1, 17, 33, .. and so on, as in
/// channel_moments().
struct Parts {
    Wide sum[n_part], product[n_part];
};

/// Adds one group. Products of floats are exact in double, so fused and separate operations give
/// the same number.
HWY_INLINE void add_group(const float* x, const float* dy, Parts& parts) {
#pragma GCC unroll 16
    for (int j = 0; j < n_part; ++j) {
        const Wide value = hn::PromoteTo(WideTag(), hn::LoadU(HalfTag(), x + j * wide_width));
        const Wide slope = hn::PromoteTo(WideTag(), hn::LoadU(HalfTag(), dy + j * wide_width));
        parts.sum[j] = hn::Add(parts.sum[j], slope);
        parts.product[j] = hn::Add(parts.product[j], hn::Mul(slope, value));
    }
}

/// Joins neighbors, then pairs of neighbors, and so on.
double join(const Wide (&part)[n_part]) {
    alignas(64) double value[lane_count];
    for (int j = 0; j < n_part; ++j) hn::StoreU(part[j], WideTag(), value + j * wide_width);
    for (int64_t n = lane_count / 2; n > 0; n /= 2) {
        for (int64_t i = 0; i < n; ++i) value[i] = value[2 * i] + value[2 * i + 1];
    }
    return value[0];
}

void channel_products(Tile<const float> x, Tile<const float> dy, double* sum, double* product) {
    const int64_t n_point = x.shape[1], n_whole = n_point / lane_count * lane_count;
    alignas(64) float rest_x[lane_count] = {}, rest_dy[lane_count] = {};
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        const float* value = x.data + c * x.stride[0];
        const float* slope = dy.data + c * dy.stride[0];
        Parts parts;
        for (int j = 0; j < n_part; ++j) parts.sum[j] = parts.product[j] = hn::Zero(WideTag());
        for (int64_t i = 0; i < n_whole; i += lane_count) add_group(value + i, slope + i, parts);
        for (int64_t i = n_whole; i < n_point; ++i) {
            rest_x[i - n_whole] = value[i];
            rest_dy[i - n_whole] = slope[i];
        }
        add_group(rest_x, rest_dy, parts);
        sum[c] = join(parts.sum);
        product[c] = join(parts.product);
    }
}

void combine_slopes(const ChannelSlope<float>* of, Tile<const float> x, Tile<const float> dy,
                    bool accumulate, Tile<float> dx) {
    const int64_t n_lane = round_up(x.shape[1], lane_count);
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        const float* value = x.data + c * x.stride[0];
        const float* slope = dy.data + c * dy.stride[0];
        float* to = dx.data + c * dx.stride[0];
        const Vector scale = broadcast(of[c].scale), mean = broadcast(of[c].mean),
                     factor = broadcast(-of[c].slope), shift = broadcast(-of[c].shift);
        for (int64_t i = 0; i < n_lane; i += width) {
            Vector sum = accumulate ? hn::Add(load(to + i), shift) : shift;
            sum = mul_add(hn::Sub(load(value + i), mean), factor, sum);
            store(mul_add(scale, load(slope + i), sum), to + i);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void channel_products(VectorLevel level, Tile<const float> x, Tile<const float> dy, double* sum,
                      double* product) {
    SURROGATE_AT_LEVEL(level, channel_products)(x, dy, sum, product);
}

void combine_slopes(VectorLevel level, const ChannelSlope<float>* of, Tile<const float> x,
                    Tile<const float> dy, bool accumulate, Tile<float> dx) {
    SURROGATE_AT_LEVEL(level, combine_slopes)(of, x, dy, accumulate, dx);
}

}  // namespace surrogate::kernels::simd
#endif
