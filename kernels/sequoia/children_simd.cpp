// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sequoia/children_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "kernels/attention/softmax-inl.h"
#include "kernels/base/point_sum-inl.h"
#include "kernels/sequoia/join_lanes-inl.h"
#include "kernels/sequoia/rows.hpp"
#include "kernels/sequoia/sequoia.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sequoia::HWY_NAMESPACE {
namespace {

/// Parents side by side and their children, of one head. Lanes run along children: each parent has
/// n_chunk chunks of lane_count columns of k and v, the first `count` of which are children.
struct Brood {
    Rows q;  ///< column 0: the first parent
    Rows k, v;
    int64_t n_chunk, count;
    float bonus;  ///< added to the score of the last child
    float* y;     ///< (e, n_parent) at the first parent
    int64_t y_row;
};

/// Scores of n chunks from `chunk` on: independent sums, which hide the latency of each other.
template <int n>
HWY_NOINLINE void score_chunks(const Brood& brood, int64_t chunk, float* scores) {
    Vector sum[n][n_part];
    const float *query[n], *key = brood.k.data + chunk * lane_count;
#pragma GCC unroll 4
    for (int u = 0; u < n; ++u) {
        query[u] = brood.q.data + (chunk + u) / brood.n_chunk;
#pragma GCC unroll 16
        for (int j = 0; j < n_part; ++j) sum[u][j] = broadcast(0.0f);
    }
    for (int64_t c = 0; c < brood.k.n_dim; ++c) {
#pragma GCC unroll 4
        for (int u = 0; u < n; ++u) {
            const Vector point = broadcast(query[u][c * brood.q.row]);
            const float* children = key + c * brood.k.row + u * lane_count;
#pragma GCC unroll 16
            for (int j = 0; j < n_part; ++j)
                sum[u][j] = mul_add(point, load(children + j * width), sum[u][j]);
        }
    }
#pragma GCC unroll 4
    for (int u = 0; u < n; ++u) {
#pragma GCC unroll 16
        for (int j = 0; j < n_part; ++j)
            store(sum[u][j], scores + (chunk + u) * lane_count + j * width);
    }
}

/// Scores of one parent's children become weights whose sum is 1, and 0 in lanes without a child. A
/// NaN or an infinity gives NaN.
HWY_NOINLINE void weigh_children(const Brood& brood, float* scores) {
    const int64_t n = brood.n_chunk * lane_count;
    scores[brood.count - 1] += brood.bonus;
    float maximum = no_score, taint = 0;
    for (int64_t i = 0; i < brood.count; ++i) {
        maximum = scores[i] > maximum ? scores[i] : maximum;
        taint = std::fma(scores[i], 0.0f, taint);
    }
    for (int64_t i = brood.count; i < n; ++i) scores[i] = maximum;
    Lanes sum;
    for (int j = 0; j < n_part; ++j) {
        sum.part[j] = broadcast(0.0f);
        for (int64_t i = j * width; i < n; i += lane_count) {
            const Vector weight = power_of_difference(load(scores + i), broadcast(maximum));
            const Vector kept = first_lanes(weight, brood.count - i);
            sum.part[j] = hn::Add(sum.part[j], kept);
            store(kept, scores + i);
        }
    }
    const Vector inverse = broadcast(1 / (join_lanes(sum) + taint));
    for (int64_t i = 0; i < n; i += width) store(hn::Mul(load(scores + i), inverse), scores + i);
}

/// y of parent p from the weights of its children.
HWY_NOINLINE void average_children(const Brood& brood, int64_t p, const float* weights) {
    const int64_t n = brood.n_chunk * lane_count;
    float* y = brood.y + p;
    const auto products = [&](const float* v) HWY_ATTR {
        Lanes sum;
#pragma GCC unroll 16
        for (int j = 0; j < n_part; ++j)
            sum.part[j] = hn::Mul(load(weights + j * width), load(v + j * width));
        for (int64_t i = lane_count; i < n; i += lane_count) {
#pragma GCC unroll 16
            for (int j = 0; j < n_part; ++j)
                sum.part[j] =
                    mul_add(load(weights + i + j * width), load(v + i + j * width), sum.part[j]);
        }
        return sum;
    };
    const float* v = brood.v.data + p * n;
    const int64_t n_dim = brood.v.n_dim, row = brood.v.row;
    int64_t c = 0;
    for (; c + lane_count <= n_dim; c += lane_count) {
        alignas(64) float sums[lane_count];
        join_channels([&](int64_t r) HWY_ATTR { return products(v + (c + r) * row); }, sums);
        for (int64_t r = 0; r < lane_count; ++r) y[(c + r) * brood.y_row] = sums[r];
    }
    for (; c < n_dim; ++c) y[c * brood.y_row] = join_lanes(products(v + c * row));
}

void attend_brood(const Brood& brood, int64_t n_parent, float* weights) {
    const int64_t n_chunk = n_parent * brood.n_chunk;
    int64_t chunk = 0;
    for (; chunk + 4 <= n_chunk; chunk += 4) score_chunks<4>(brood, chunk, weights);
    for (; chunk < n_chunk; ++chunk) score_chunks<1>(brood, chunk, weights);
    for (int64_t p = 0; p < n_parent; ++p) {
        float* own = weights + p * brood.n_chunk * lane_count;
        weigh_children(brood, own);
        average_children(brood, p, own);
    }
}

void attend_children(const Heads& heads, int64_t k_branch, int64_t n_last, Tile<const float> q,
                     Tile<const float> k, Tile<const float> v, float* scratch, Tile<float> y) {
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim, n_child = k.shape[1];
    const int64_t n_padded = round_up(k_branch, lane_count);
    float *keys = scratch, *values = keys + d * n_padded, *weights = values + e * n_padded;
    // Whole chunks are read where they lie.
    const int64_t n_whole = k_branch == n_padded ? n_child / k_branch : 0;
    for (int64_t h = 0; h < heads.n_head; ++h) {
        const Rows of_q = rows_of(q, h, d), of_k = rows_of(k, h, d), of_v = rows_of(v, h, e);
        float* of_y = y.data + h * e * y.stride[0];
        if (n_whole > 0)
            attend_brood({of_q, of_k, of_v, n_padded / lane_count, k_branch, 0, of_y, y.stride[0]},
                         n_whole, weights);
        for (int64_t p = n_whole; p * k_branch < n_child; ++p) {
            const int64_t first = p * k_branch, count = std::min(k_branch, n_child - first);
            copy_columns(of_k.from(first), count, n_padded, keys);
            copy_columns(of_v.from(first), count, n_padded, values);
            const bool has_end = first + count == n_child;
            attend_brood({of_q.from(p),
                          {keys, n_padded, d},
                          {values, n_padded, e},
                          n_padded / lane_count,
                          count,
                          has_end ? static_cast<float>(std::log2(n_last)) : 0.0f,
                          of_y + p,
                          y.stride[0]},
                         1, weights);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sequoia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::sequoia::simd {

void attend_children(VectorLevel level, const Heads& heads, int64_t k_branch, int64_t n_last,
                     Tile<const float> q, Tile<const float> k, Tile<const float> v, float* scratch,
                     Tile<float> y) {
    SURROGATE_AT_LEVEL(level, attend_children)(heads, k_branch, n_last, q, k, v, scratch, y);
}

}  // namespace surrogate::kernels::sequoia::simd
#endif
