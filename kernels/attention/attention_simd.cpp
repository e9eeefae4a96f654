// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include <algorithm>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/softmax-inl.h"
#include "kernels/base/block_size.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

/// Vectors of queries that go together: 16 lanes at every level that has them.
constexpr int n_vector = width == 8 ? 2 : 1;
constexpr int64_t n_lane = n_vector * width;

/// Rows of channels, all columns of which have one distance.
struct Rows {
    const float* data;
    int64_t row, n_dim;

    Rows from(int64_t column) const { return {data + column, row, n_dim}; }
};

/// What is added to scores of one head: factor * distance(key, lane), in front of their sums. Null
/// distance: nothing.
struct Bias {
    float factor;
    const float* distance;
    int64_t row;

    Bias from(int64_t key, int64_t query) const {
        return {factor, distance ? distance + key * row + query : nullptr, row};
    }
};

/// Over the keys of a block: the largest score and 0, or NaN if a score is none. The exponential
/// alone would not carry every NaN on (flare.md).
struct Extent {
    Vector maximum[n_vector], taint[n_vector];
};

/// S(j, lane) of n_key keys for n_lane queries.
template <int n_key, bool is_biased>
HWY_NOINLINE void score_block(Rows q, const float* k, int64_t k_row, const Bias& bias,
                              float* scores, Extent& extent) {
    Vector sum[n_key][n_vector];
#pragma GCC unroll 8
    for (int r = 0; r < n_key; ++r) {
        const float* distance = bias.distance + r * bias.row;
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j)
            sum[r][j] = is_biased ? hn::Mul(broadcast(bias.factor), load(distance + j * width))
                                  : broadcast(0.0f);
    }
    const float* query = q.data;
#pragma GCC unroll 4
    for (int64_t c = 0; c < q.n_dim; ++c, query += q.row, k += k_row) {
        hwy::Prefetch(k + lane_count);  // the next cache line: other keys of this channel
        Vector point[n_vector];
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) point[j] = load(query + j * width);
#pragma GCC unroll 8
        for (int r = 0; r < n_key; ++r) {
            const Vector key = broadcast(k[r]);
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) sum[r][j] = mul_add(point[j], key, sum[r][j]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < n_key; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            store(sum[r][j], scores + r * n_lane + j * width);
            extent.maximum[j] = at_least(sum[r][j], extent.maximum[j]);  // NaN is no maximum
            extent.taint[j] = mul_add(sum[r][j], broadcast(0.0f), extent.taint[j]);
        }
    }
}

/// `maximum` is raised, `taint` set.
template <bool is_biased>
HWY_NOINLINE void score_keys(Rows q, Rows k, int64_t n_key, const Bias& bias, float* scores,
                             float* maximum, float* taint) {
    Extent extent;
    for (int j = 0; j < n_vector; ++j) {
        extent.maximum[j] = load(maximum + j * width);
        extent.taint[j] = broadcast(0.0f);
    }
    for_blocks_of_6(n_key, [&](int64_t i, auto n) HWY_ATTR {
        score_block<decltype(n)::value, is_biased>(q, k.data + i, k.row, bias.from(i, 0),
                                                   scores + i * n_lane, extent);
    });
    for (int j = 0; j < n_vector; ++j) {
        store(extent.maximum[j], maximum + j * width);
        store(extent.taint[j], taint + j * width);
    }
}

/// value(c, lane) = rescale * value(c, lane) + w sum_j weight(j, lane) v(c, j) for n_row channels.
template <int n_row>
HWY_NOINLINE void gather_rows(const float* weights, const float* v, int64_t v_row, int64_t n_key,
                              const float* rescale, float w, float* value) {
    Vector sum[n_row][n_vector];
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) sum[r][j] = broadcast(0.0f);
    }
#pragma GCC unroll 4
    for (int64_t i = 0; i < n_key; ++i) {
        Vector weight[n_vector];
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) weight[j] = load(weights + i * n_lane + j * width);
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r) {
            const Vector x = broadcast(v[r * v_row + i]);
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) sum[r][j] = mul_add(weight[j], x, sum[r][j]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            float* place = value + r * tile_points + j * width;
            const Vector old = hn::Mul(load(place), load(rescale + j * width));
            store(mul_add(sum[r][j], broadcast(w), old), place);
        }
    }
}

HWY_NOINLINE void gather_values(const float* weights, Rows v, int64_t n_key, const float* rescale,
                                float w, float* value) {
    for_blocks_of_6(v.n_dim, [&](int64_t c, auto n) HWY_ATTR {
        gather_rows<decltype(n)::value>(weights, v.data + c * v.row, v.row, n_key, rescale, w,
                                        value + c * tile_points);
    });
}

/// Softmax under way of n_lane queries of one head.
struct Lanes {
    float *maximum, *sum, *value;
};

void attend_block(Rows q, Rows k, Rows v, int64_t n_key, float w, const Bias& bias, float* scores,
                  Lanes state) {
    alignas(64) float maximum[n_lane], rescale[n_lane], sum[n_lane], taint[n_lane];
    for (int64_t j = 0; j < n_lane; j += width) store(load(state.maximum + j), maximum + j);
    (bias.distance ? score_keys<true> : score_keys<false>)(q, k, n_key, bias, scores, maximum,
                                                           taint);
    weigh_block<n_vector>(n_key, scores, maximum, state.maximum, rescale, sum);
    for (int64_t j = 0; j < n_lane; j += width) {
        const Vector old = mul_add(load(state.sum + j), load(rescale + j), load(taint + j));
        store(mul_add(load(sum + j), broadcast(w), old), state.sum + j);
    }
    gather_values(scores, v, n_key, rescale, w, state.value);
}

void attend(const Heads& heads, Tile<const float> q, Tile<const float> k, Tile<const float> v,
            float w, const DistanceBias<float>& bias, float* scratch, SoftmaxState<float> state) {
    if (w == 0) return;
    const int64_t n_key = k.shape[1], n_query = round_up(q.shape[1], lane_count);
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim;
    for (int64_t h = 0; h < heads.n_head; ++h) {
        const Rows queries{q.data + h * d * q.stride[0], q.stride[0], d};
        const Rows keys{k.data + h * d * k.stride[0], k.stride[0], d};
        const Rows values{v.data + h * e * v.stride[0], v.stride[0], e};
        Bias added{};
        if (bias.factor) added = {bias.factor[h], bias.distance.data, bias.distance.stride[0]};
        for (int64_t first = 0; first < n_key; first += max_keys) {
            const int64_t count = std::min(max_keys, n_key - first);
            for (int64_t i = 0; i < n_query; i += n_lane)
                attend_block(queries.from(i), keys.from(first), values.from(first), count, w,
                             added.from(first, i), scratch,
                             {state.maximum(h) + i, state.sum(h) + i, state.value(h) + i});
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void attend(VectorLevel level, const Heads& heads, Tile<const float> q, Tile<const float> k,
            Tile<const float> v, float w, const DistanceBias<float>& bias, float* scratch,
            SoftmaxState<float> state) {
    SURROGATE_AT_LEVEL(level, attend)(heads, q, k, v, w, bias, scratch, state);
}

}  // namespace surrogate::kernels::simd
#endif
