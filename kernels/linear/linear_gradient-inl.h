// SPDX-License-Identifier: Apache-2.0
// Gradients of an affine layer's parameters. This file is compiled once per SIMD instruction set.
// With lanes along input channels instead of points, dy x^T is a product for the register block of
// linear-inl.h, and no lane is added to another.
#if defined(SURROGATE_LINEAR_GRADIENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_LINEAR_GRADIENT_INL_H_
#undef SURROGATE_LINEAR_GRADIENT_INL_H_
#else
#define SURROGATE_LINEAR_GRADIENT_INL_H_
#endif

#include <algorithm>

#include "kernels/base/point_sum-inl.h"
#include "kernels/base/transpose-inl.h"
#include "kernels/linear/linear-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {

/// Channels of x and rows of dy that are multiplied at once: x^T needs 16 KiB, products 6 KiB, rows
/// of dy 6 KiB, together less than a first-level cache.
constexpr int64_t gradient_channels = 64, gradient_rows = 24;

#if HWY_TARGET != HWY_SCALAR
/// Transposes `width` channels of four points from (channel, point) to (point, channel).
HWY_INLINE void transpose_four(const float* from, int64_t row, float* to) {
    Vector points[4];
    transpose_blocks(
        {load_blocks<width>(from, row), load_blocks<width>(from + row, row),
         load_blocks<width>(from + 2 * row, row), load_blocks<width>(from + 3 * row, row)},
        points);
    for (int j = 0; j < 4; ++j) store(points[j], to + j * gradient_channels);
}
#endif

/// Computes to (n_point, gradient_channels) = x^T, with zeros up to a multiple of lane_count
/// channels. Points of the padding up to a multiple of four are copied too.
inline void transpose(Tile<const float> x, float* to) {
    const auto [n_channel, n_point] = x.shape;
    int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
    for (; c + width <= n_channel; c += width) {
        for (int64_t i = 0; i < n_point; i += 4)
            transpose_four(x.data + c * x.stride[0] + i, x.stride[0],
                           to + i * gradient_channels + c);
    }
#endif
    for (; c < round_up(n_channel, lane_count); ++c) {
        for (int64_t i = 0; i < n_point; ++i)
            to[i * gradient_channels + c] = c < n_channel ? x(c, i) : 0.0f;
    }
}

/// Adds weight (n_row, n_in) += dy x^T for at most gradient_rows rows of dy; points (n_point,
/// n_channel) is x^T.
inline void add_products(Tile<const float> dy, Tile<const float> points, double* weight,
                         int64_t n_in) {
    alignas(64) float product[gradient_rows * gradient_channels];
    const Tile<float> sums{product, {dy.shape[0], points.shape[1]}, {gradient_channels, 1}};
    const Matrix matrix{dy.data, dy.shape[0], dy.shape[1], dy.stride[0], 1, nullptr};
    short_layer(matrix, points, {}, sums);
    for (int64_t o = 0; o < sums.shape[0]; ++o) {
        for (int64_t c = 0; c < sums.shape[1]; ++c)
            weight[o * n_in + c] += static_cast<double>(product[o * gradient_channels + c]);
    }
}

inline void add_weights(Tile<const float> x, Tile<const float> dy, double* weight) {
    alignas(64) float transposed[tile_points * gradient_channels];
    const int64_t n_in = x.shape[0], n_out = dy.shape[0], n_point = x.shape[1];
    for (int64_t c = 0; c < n_in; c += gradient_channels) {
        const int64_t n_channel = std::min(gradient_channels, n_in - c);
        transpose(channels(x, c, n_channel), transposed);
        const Tile<const float> points{transposed, {n_point, n_channel}, {gradient_channels, 1}};
        for (int64_t o = 0; o < n_out; o += gradient_rows) {
            const int64_t n_row = std::min(gradient_rows, n_out - o);
            add_products(channels(dy, o, n_row), points, weight + o * n_in + c, n_in);
        }
    }
}

inline void add_bias(Tile<const float> dy, double* bias) {
    for (int64_t o = 0; o < dy.shape[0]; ++o) {
        const float* from = dy.data + o * dy.stride[0];
        PointSum sum;
        for (int64_t i = 0; i < dy.shape[1]; i += lane_count) {
            for (int j = 0; j < PointSum::n_part; ++j) {
                const int64_t point = i + j * width;
                sum.add(j, first_lanes(load(from + point), dy.shape[1] - point));
            }
        }
        bias[o] += static_cast<double>(sum.join());
    }
}

}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
