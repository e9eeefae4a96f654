// SPDX-License-Identifier: Apache-2.0
// Softmax attention of parents to their own children, which are side by side in lanes: functions
// that the forward and the backward pass share. This file is compiled once per SIMD instruction
// set.
#if defined(SURROGATE_SEQUOIA_BROOD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_SEQUOIA_BROOD_INL_H_
#undef SURROGATE_SEQUOIA_BROOD_INL_H_
#else
#define SURROGATE_SEQUOIA_BROOD_INL_H_
#endif

#include "kernels/attention/softmax-inl.h"
#include "kernels/base/join_lanes-inl.h"
#include "kernels/base/point_sum-inl.h"
#include "kernels/sequoia/rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sequoia::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Computes <a, x_j> of n chunks of lane_count columns of x, from `chunk` on: column p of `a` is
/// multiplied with the chunks p * n_own .. of x. Sums are independent and hide the latency of each
/// other.
template <int n>
HWY_NOINLINE void multiply_chunks(Rows a, Rows x, int64_t n_own, int64_t chunk, float* products) {
    Vector sum[n][n_part];
    const float *point[n], *columns = x.data + chunk * lane_count;
#pragma GCC unroll 4
    for (int u = 0; u < n; ++u) {
        point[u] = a.data + (chunk + u) / n_own;
#pragma GCC unroll 16
        for (int j = 0; j < n_part; ++j) sum[u][j] = broadcast(0.0f);
    }
    for (int64_t c = 0; c < x.n_dim; ++c, columns += x.row) {
#pragma GCC unroll 4
        for (int u = 0; u < n; ++u) {
            const Vector value = broadcast(*point[u]);
            point[u] += a.row;
#pragma GCC unroll 16
            for (int j = 0; j < n_part; ++j)
                sum[u][j] = mul_add(value, load(columns + u * lane_count + j * width), sum[u][j]);
        }
    }
#pragma GCC unroll 4
    for (int u = 0; u < n; ++u) {
#pragma GCC unroll 16
        for (int j = 0; j < n_part; ++j)
            store(sum[u][j], products + (chunk + u) * lane_count + j * width);
    }
}

/// Computes the products of n_parent columns of `a`: products (n_parent, n_own, lane_count).
HWY_INLINE void multiply_children(Rows a, Rows x, int64_t n_own, int64_t n_parent,
                                  float* products) {
    const int64_t n_chunk = n_parent * n_own;
    int64_t chunk = 0;
    for (; chunk + 4 <= n_chunk; chunk += 4) multiply_chunks<4>(a, x, n_own, chunk, products);
    for (; chunk < n_chunk; ++chunk) multiply_chunks<1>(a, x, n_own, chunk, products);
}

/// Replaces the scores of one parent's `count` children, in n_own chunks, by weights with sum 1,
/// and by 0 in lanes without a child. `bonus` is added to the last child's score. A NaN or an
/// infinity gives NaN.
HWY_NOINLINE void weigh_children(int64_t n_own, int64_t count, float bonus, float* scores) {
    const int64_t n = n_own * lane_count;
    scores[count - 1] += bonus;
    float maximum = no_score, taint = 0;
    for (int64_t i = 0; i < count; ++i) {
        maximum = scores[i] > maximum ? scores[i] : maximum;
        taint = std::fma(scores[i], 0.0f, taint);
    }
    for (int64_t i = count; i < n; ++i) scores[i] = maximum;
    Lanes sum;
    for (int j = 0; j < n_part; ++j) {
        sum.part[j] = broadcast(0.0f);
        for (int64_t i = j * width; i < n; i += lane_count) {
            const Vector weight = power_of_difference(load(scores + i), broadcast(maximum));
            const Vector kept = first_lanes(weight, count - i);
            sum.part[j] = hn::Add(sum.part[j], kept);
            store(kept, scores + i);
        }
    }
    const Vector inverse = broadcast(1 / (join_lanes(sum) + taint));
    for (int64_t i = 0; i < n; i += width) store(hn::Mul(load(scores + i), inverse), scores + i);
}

/// Returns weight(j) x(j) of n_own chunks of one channel.
HWY_INLINE Lanes weighted(int64_t n_own, const float* weights, const float* x) {
    Lanes sum;
#pragma GCC unroll 16
    for (int j = 0; j < n_part; ++j)
        sum.part[j] = hn::Mul(load(weights + j * width), load(x + j * width));
    for (int64_t i = lane_count; i < n_own * lane_count; i += lane_count) {
#pragma GCC unroll 16
        for (int j = 0; j < n_part; ++j)
            sum.part[j] =
                mul_add(load(weights + i + j * width), load(x + i + j * width), sum.part[j]);
    }
    return sum;
}

/// Calls put(c, sum_j weight(j) x(c, j)) for every channel.
template <class Put>
HWY_INLINE void average_children(int64_t n_own, const float* weights, Rows x, const Put& put) {
    int64_t c = 0;
    for (; c + lane_count <= x.n_dim; c += lane_count) {
        alignas(64) float sums[lane_count];
        join_channels([&](int64_t r)
                          HWY_ATTR { return weighted(n_own, weights, x.data + (c + r) * x.row); },
                      sums);
        for (int64_t r = 0; r < lane_count; ++r) put(c + r, sums[r]);
    }
    for (; c < x.n_dim; ++c) put(c, join_lanes(weighted(n_own, weights, x.data + c * x.row)));
}

}  // namespace
}  // namespace surrogate::kernels::sequoia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
