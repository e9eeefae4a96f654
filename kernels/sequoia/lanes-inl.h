// SPDX-License-Identifier: Apache-2.0
// Softmax attention of some queries of one head, side by side in lanes, to keys that all of them
// share. This file is compiled once per SIMD instruction set.
#if defined(SURROGATE_SEQUOIA_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_SEQUOIA_LANES_INL_H_
#undef SURROGATE_SEQUOIA_LANES_INL_H_
#else
#define SURROGATE_SEQUOIA_LANES_INL_H_
#endif

#include "kernels/attention/softmax-inl.h"
#include "kernels/sequoia/rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sequoia::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Number of vectors of queries that are processed together: lane_count lanes on every instruction
/// set.
constexpr int n_vector = static_cast<int>(lane_count / width);

/// Computes S(j, lane) of n_key columns k.
template <int n_key>
HWY_NOINLINE void score_block(Rows q, const float* k, int64_t k_row, float* scores) {
    Vector sum[n_key][n_vector];
#pragma GCC unroll 16
    for (int r = 0; r < n_key; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) sum[r][j] = broadcast(0.0f);
    }
    const float* query = q.data;
#pragma GCC unroll 2
    for (int64_t c = 0; c < q.n_dim; ++c, query += q.row, k += k_row) {
        Vector point[n_vector];
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) point[j] = load(query + j * width);
#pragma GCC unroll 16
        for (int r = 0; r < n_key; ++r) {
            const Vector key = broadcast(k[r]);
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) sum[r][j] = mul_add(point[j], key, sum[r][j]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < n_key; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) store(sum[r][j], scores + r * lane_count + j * width);
    }
}

/// Computes S(j, lane) of n_key columns. Blocks are as large as registers allow: 16 of 32 with
/// AVX-512, 6 x 2 of 16 with AVX2.
HWY_INLINE void score_columns(Rows q, const float* k, int64_t k_row, int64_t n_key, float* scores) {
    constexpr int n_most = width == 16 ? 16 : width == 8 ? 6 : 4;
    int64_t j = 0;
    for (; j + n_most <= n_key; j += n_most)
        score_block<n_most>(q, k + j, k_row, scores + j * lane_count);
    if constexpr (n_most > 8) {
        for (; j + 8 <= n_key; j += 8) score_block<8>(q, k + j, k_row, scores + j * lane_count);
    }
    for (; j + 4 <= n_key; j += 4) score_block<4>(q, k + j, k_row, scores + j * lane_count);
    for (; j < n_key; ++j) score_block<1>(q, k + j, k_row, scores + j * lane_count);
}

/// Computes <x_lane, y_a> of n separate columns: column a is at y(a), its channels have stride
/// row(a). All sums are in one loop, because a single sum would wait for its own results.
template <int n>
HWY_NOINLINE void multiply_nodes(Rows x, const float* const* y, const int64_t* row,
                                 float* products) {
    Vector sum[n][n_vector];
    const float* at[n];
    int64_t step[n];
#pragma GCC unroll 8
    for (int r = 0; r < n; ++r) {
        at[r] = y[r];
        step[r] = row[r];
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) sum[r][j] = broadcast(0.0f);
    }
    const float* point = x.data;
    for (int64_t c = 0; c < x.n_dim; ++c, point += x.row) {
#pragma GCC unroll 8
        for (int r = 0; r < n; ++r) {
            const Vector value = broadcast(*at[r]);
            at[r] += step[r];
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j)
                sum[r][j] = mul_add(load(point + j * width), value, sum[r][j]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < n; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) store(sum[r][j], products + r * lane_count + j * width);
    }
}

/// Replaces scores by weights with sum 1, in each lane. A NaN or an infinity gives NaN: the
/// exponential alone would not propagate every NaN (flare.md).
HWY_NOINLINE void weigh(int64_t n_key, float* scores) {
    alignas(64) float maximum[lane_count], sum[lane_count];
    Vector taint[n_vector];
    for (int j = 0; j < n_vector; ++j) {
        Vector largest = broadcast(no_score);
        taint[j] = broadcast(0.0f);
        for (int64_t i = 0; i < n_key; ++i) {
            const Vector score = load(scores + i * lane_count + j * width);
            largest = at_least(score, largest);  // NaN is not a maximum
            taint[j] = mul_add(score, broadcast(0.0f), taint[j]);
        }
        store(tame_huge_scores(largest, n_key, lane_count, scores + j * width),
              maximum + j * width);
    }
    weigh_keys<n_vector>(n_key, maximum, scores, sum, lowest_weight);
    for (int j = 0; j < n_vector; ++j) {
        const Vector total = hn::Add(load(sum + j * width), taint[j]);
        const Vector inverse = hn::Div(broadcast(1.0f), total);
        for (int64_t i = 0; i < n_key; ++i) {
            float* place = scores + i * lane_count + j * width;
            store(hn::Mul(load(place), inverse), place);
        }
    }
}

/// Sums of a register block: n_row channels x n_vector vectors of lanes.
template <int n_row>
struct Sums {
    Vector at[n_row][n_vector];

    HWY_INLINE void clear() {
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) at[r][j] = broadcast(0.0f);
        }
    }
    HWY_INLINE void store_to(float* place) const {  // (n_row, lane_count)
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) store(at[r][j], place + r * lane_count + j * width);
        }
    }
    /// Adds at(r, lane) += weight(lane) x(r), with x(r) at x[r * row].
    HWY_INLINE void add(const float* weight, const float* x, int64_t row) {
        Vector w[n_vector];
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) w[j] = load(weight + j * width);
        const float* x_3 = x + 3 * row;  // few pointers; otherwise the compiler keeps one per
                                         // channel
        const float* x_6 = x + 6 * row;
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r) {
            const float* base = r < 3 ? x : r < 6 ? x_3 : x_6;
            const Vector value = broadcast(base[r % 3 * row]);
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) at[r][j] = mul_add(w[j], value, at[r][j]);
        }
    }
};

/// Number of channels that are processed together: 8 x 1 sums hide the latency of AVX-512, 6 x 2
/// fill AVX2's registers.
constexpr int n_channel_block = width == 16 ? 8 : width == 8 ? 6 : 2;

/// Calls body(c, n) for blocks of n channels, n a compile-time constant.
template <class Body>
HWY_INLINE void for_channel_blocks(int64_t n_channel, const Body& body) {
    int64_t c = 0;
    for (; c + n_channel_block <= n_channel; c += n_channel_block)
        body(c, std::integral_constant<int, n_channel_block>());
    for (; c + 2 <= n_channel; c += 2) body(c, std::integral_constant<int, 2>());
    for (; c < n_channel; ++c) body(c, std::integral_constant<int, 1>());
}

}  // namespace
}  // namespace surrogate::kernels::sequoia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
