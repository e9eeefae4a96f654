// SPDX-License-Identifier: Apache-2.0
// Operations of both backward passes of the mixer on weights (latent, lane) whose lanes are points:
// sums over points, for which latents become lanes. This file is compiled once per SIMD instruction
// set.
#if defined(SURROGATE_FLARE_GRADIENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_FLARE_GRADIENT_INL_H_
#undef SURROGATE_FLARE_GRADIENT_INL_H_
#else
#define SURROGATE_FLARE_GRADIENT_INL_H_
#endif

#include "kernels/base/transpose-inl.h"
#include "kernels/flare/attend-inl.h"
#include "kernels/flare/gradient.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::flare::HWY_NAMESPACE {

/// Weights (n_latent, n_lane) of one group of points, row by row, to be multiplied by factor
/// (n_lane). Allocated for a multiple of lane_count rows, all of them finite.
struct PointWeights {
    const float *data, *factor;
    int64_t n_lane;
};

/// Loads the weights of `width` latents at four points (one at the scalar level), latents in lanes.
#if HWY_TARGET == HWY_SCALAR
constexpr int turned_points = 1;
HWY_INLINE void turn(const float* weights, int64_t, const float* factor, Vector (&point)[1]) {
    point[0] = hn::Mul(load(weights), load(factor));
}
#else
constexpr int turned_points = 4;
HWY_INLINE void turn(const float* weights, int64_t row, const float* factor, Vector (&point)[4]) {
    const Vector f = hn::LoadDup128(Tag(), factor);
    transpose_blocks({hn::Mul(load_blocks<width>(weights, row), f),
                      hn::Mul(load_blocks<width>(weights + row, row), f),
                      hn::Mul(load_blocks<width>(weights + 2 * row, row), f),
                      hn::Mul(load_blocks<width>(weights + 3 * row, row), f)},
                     point);
}
#endif

/// Adds to(d, m) += sum_n weight(m, n) x(d, n), points in their order, for n_row channels and
/// n_vector vectors of latents.
template <int n_row, int n_vector>
HWY_NOINLINE void add_rows_over_points(PointWeights weights, const float* x, int64_t x_row,
                                       float* to, int64_t to_row) {
    Vector sum[n_row][n_vector];
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) sum[r][j] = load(to + r * to_row + j * width);
    }
    for (int64_t n = 0; n < weights.n_lane; n += turned_points) {
        Vector point[n_vector][turned_points];
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j)
            turn(weights.data + j * width * weights.n_lane + n, weights.n_lane, weights.factor + n,
                 point[j]);
#pragma GCC unroll 4
        for (int i = 0; i < turned_points; ++i) {
#pragma GCC unroll 8
            for (int r = 0; r < n_row; ++r) {
                const Vector value = broadcast(x[r * x_row + n + i]);
#pragma GCC unroll 2
                for (int j = 0; j < n_vector; ++j)
                    sum[r][j] = mul_add(point[j][i], value, sum[r][j]);
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) store(sum[r][j], to + r * to_row + j * width);
    }
}

/// Adds the sums over points for all channels of x.
template <int n_vector>
HWY_INLINE void add_over_points(PointWeights weights, LaneQueries x, int64_t n_dim, float* to,
                                int64_t to_row) {
    int64_t d = 0;
    for (; d + 8 <= n_dim; d += 8)
        add_rows_over_points<8, n_vector>(weights, x.data + d * x.row, x.row, to + d * to_row,
                                          to_row);
    for (; d + 4 <= n_dim; d += 4)
        add_rows_over_points<4, n_vector>(weights, x.data + d * x.row, x.row, to + d * to_row,
                                          to_row);
    for (; d < n_dim; ++d)
        add_rows_over_points<1, n_vector>(weights, x.data + d * x.row, x.row, to + d * to_row,
                                          to_row);
}

/// Adds to(d, m) += sum_n weight(m, n) x(d, n) for n_latent latents; rows of `to` are allocated for
/// a multiple of lane_count.
HWY_INLINE void add_over_points(PointWeights weights, int64_t n_latent, LaneQueries x,
                                int64_t n_dim, float* to, int64_t to_row) {
    constexpr int n_vector = width == 16 ? 2 : 1;  // with 16 registers: 8 sums and 4 points
    const int64_t n_row = round_up(n_latent, lane_count), step = width * weights.n_lane;
    int64_t m = 0;
    for (; m + n_vector * width <= n_row; m += n_vector * width, weights.data += n_vector * step)
        add_over_points<n_vector>(weights, x, n_dim, to + m, to_row);
    for (; m < n_row; m += width, weights.data += step)
        add_over_points<1>(weights, x, n_dim, to + m, to_row);
}

/// Clears the rows between n_latent and a multiple of lane_count.
HWY_INLINE void clear_padding(float* weights, int64_t n_latent, int64_t n_lane) {
    std::fill(weights + n_latent * n_lane, weights + round_up(n_latent, lane_count) * n_lane, 0.0f);
}

/// Calls body(lane, vectors) for groups of lanes; vectors is a constant of the compiler.
template <class Body>
HWY_INLINE void for_lane_groups(int64_t n_lane, const Body& body) {
    int64_t lane = 0;
    for (; lane + most_vectors * width <= n_lane; lane += most_vectors * width)
        body(lane, std::integral_constant<int, most_vectors>());
    for (; lane < n_lane; lane += width) body(lane, std::integral_constant<int, 1>());
}

}  // namespace surrogate::kernels::flare::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
