// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/moments_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/base/vector-inl.h"
#include "kernels/norm/moments.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

using WideTag = hn::ScalableTag<double>;
using Wide = hn::Vec<WideTag>;
using HalfTag = hn::Rebind<float, WideTag>;

constexpr int wide_width = static_cast<int>(HWY_LANES(double));
constexpr int n_part = static_cast<int>(lane_count) / wide_width;

/// Partial sums over the points i = 0, 16, 32, .., over 1, 17, 33, .. and so on: 16 partial sums in
/// n_part vectors, at every vector width.
struct Parts {
    Wide sum[n_part], square[n_part];
};

/// Adds one group. Squares of floats are exact in double, so fused and separate operations give the
/// same number.
HWY_INLINE void add_group(const float* x, Parts& parts) {
#pragma GCC unroll 16
    for (int j = 0; j < n_part; ++j) {
        const Wide value = hn::PromoteTo(WideTag(), hn::LoadU(HalfTag(), x + j * wide_width));
        parts.sum[j] = hn::Add(parts.sum[j], value);
        parts.square[j] = hn::Add(parts.square[j], hn::Mul(value, value));
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

void channel_moments(Tile<const float> x, double* sum, double* square) {
    const int64_t n_point = x.shape[1], n_whole = n_point / lane_count * lane_count;
    alignas(64) float rest[lane_count] = {};
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        const float* row = x.data + c * x.stride[0];
        Parts parts;
        for (int j = 0; j < n_part; ++j) parts.sum[j] = parts.square[j] = hn::Zero(WideTag());
        for (int64_t i = 0; i < n_whole; i += lane_count) add_group(row + i, parts);
        for (int64_t i = n_whole; i < n_point; ++i) rest[i - n_whole] = row[i];
        add_group(rest, parts);
        sum[c] = join(parts.sum);
        square[c] = join(parts.square);
    }
}

void scale_shift(const float* scale, const float* shift, Tile<const float> x, Tile<float> y) {
    const int64_t n_lane = round_up(x.shape[1], lane_count);
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        const float* from = x.data + c * x.stride[0];
        float* to = y.data + c * y.stride[0];
        const Vector factor = broadcast(scale[c]), addend = broadcast(shift[c]);
        for (int64_t i = 0; i < n_lane; i += width)
            store(mul_add(load(from + i), factor, addend), to + i);
    }
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void channel_moments(VectorLevel level, Tile<const float> x, double* sum, double* square) {
    SURROGATE_AT_LEVEL(level, channel_moments)(x, sum, square);
}

void scale_shift(VectorLevel level, const float* scale, const float* shift, Tile<const float> x,
                 Tile<float> y) {
    SURROGATE_AT_LEVEL(level, scale_shift)(scale, shift, x, y);
}

}  // namespace surrogate::kernels::simd
#endif
