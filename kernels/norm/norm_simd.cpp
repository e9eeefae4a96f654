// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/norm_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/base/vector-inl.h"
#include "kernels/norm/norm.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

/// One vector of points over the channels: x and y point at channel 0.
struct Column {
    int64_t n_channel, x_row, y_row;
    float inverse_count;
};

HWY_INLINE Vector inverse_root(Vector mean_square, float eps) {
    return hn::Div(broadcast(1.0f), hn::Sqrt(hn::Add(mean_square, broadcast(eps))));
}

HWY_INLINE void layer_norm(const Column& column, const Norm<float>& norm, const float* x,
                           float* y) {
    const auto [n_channel, x_row, y_row, inverse_count] = column;
    Vector sum = broadcast(0.0f);
    for (int64_t c = 0; c < n_channel; ++c) sum = hn::Add(sum, load(x + c * x_row));
    const Vector mean = hn::Mul(sum, broadcast(inverse_count));
    Vector square = broadcast(0.0f);
    for (int64_t c = 0; c < n_channel; ++c) {
        const Vector centred = hn::Sub(load(x + c * x_row), mean);
        square = mul_add(centred, centred, square);
    }
    const Vector scale = inverse_root(hn::Mul(square, broadcast(inverse_count)), norm.eps);
    for (int64_t c = 0; c < n_channel; ++c) {
        const Vector unit = hn::Mul(hn::Sub(load(x + c * x_row), mean), scale);
        store(mul_add(unit, broadcast(norm.weight[c]), broadcast(norm.bias[c])), y + c * y_row);
    }
}

HWY_INLINE void rms_norm(const Column& column, const Norm<float>& norm, const float* x, float* y) {
    const auto [n_channel, x_row, y_row, inverse_count] = column;
    Vector square = broadcast(0.0f);
    for (int64_t c = 0; c < n_channel; ++c) {
        const Vector value = load(x + c * x_row);
        square = mul_add(value, value, square);
    }
    const Vector scale = inverse_root(hn::Mul(square, broadcast(inverse_count)), norm.eps);
    for (int64_t c = 0; c < n_channel; ++c) {
        const Vector unit = hn::Mul(load(x + c * x_row), scale);
        store(hn::Mul(unit, broadcast(norm.weight[c])), y + c * y_row);
    }
}

void normalise(const Norm<float>& norm, Tile<const float> x, Tile<float> y) {
    const int64_t n_channel = x.shape[0], n_lane = round_up(x.shape[1], lane_count);
    const Column column{n_channel, x.stride[0], y.stride[0], 1.0f / static_cast<float>(n_channel)};
    for (int64_t i = 0; i < n_lane; i += width) {
        if (norm.kind == NormKind::layer) layer_norm(column, norm, x.data + i, y.data + i);
        if (norm.kind == NormKind::rms) rms_norm(column, norm, x.data + i, y.data + i);
    }
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void normalise(VectorLevel level, const Norm<float>& norm, Tile<const float> x, Tile<float> y) {
    SURROGATE_AT_LEVEL(level, normalise)(norm, x, y);
}

}  // namespace surrogate::kernels::simd
#endif
