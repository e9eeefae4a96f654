// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sphere/neighborhood_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "kernels/base/softmax-inl.h"
#include "kernels/sphere/attention.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Vectors of queries that go together: 16 lanes at every level that has them.
constexpr int n_vector = width == 8 ? 2 : 1;
constexpr int64_t n_lane = n_vector * width;

/// Channels of some queries: element (c, lane) at data[c * row + lane].
struct Lanes {
    const float* data;
    int64_t row, n_dim;
};

/// What n_lane queries of one head see: their first stands in `column`.
struct Neighbors {
    std::span<const Strip> strips;
    Rings<const float> rings;
    int64_t channel;  ///< first of the head
    int64_t column;

    const float* at(const Strip& strip) const {
        return rings.at(strip.row, channel) + column + strip.first;
    }
    int64_t step(const Strip& strip) const { return rings.layout->step(strip.row); }
};

/// Over all neighbors: the largest score, and 0 or NaN if a score is none. The exponential alone would
/// not carry every NaN on (flare.md).
struct Extent {
    Vector maximum[n_vector], taint[n_vector];
};

/// Scores of lane i with columns i .. i + n_offset - 1 of k.
template <int n_offset>
HWY_INLINE void score_offsets(Lanes q, const float* k, int64_t k_step, float* scores,
                              Extent& extent) {
    Vector sum[n_offset][n_vector];
#pragma GCC unroll 8
    for (int o = 0; o < n_offset; ++o) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) sum[o][j] = broadcast(0.0f);
    }
    const float* query = q.data;
    for (int64_t c = 0; c < q.n_dim; ++c, query += q.row, k += k_step) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            const Vector point = load(query + j * width);
#pragma GCC unroll 8
            for (int o = 0; o < n_offset; ++o)
                sum[o][j] = mul_add(point, load(k + o + j * width), sum[o][j]);
        }
    }
#pragma GCC unroll 8
    for (int o = 0; o < n_offset; ++o) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            store(sum[o][j], scores + o * n_lane + j * width);
            extent.maximum[j] = at_least(sum[o][j], extent.maximum[j]);  // NaN is no maximum
            extent.taint[j] = mul_add(sum[o][j], broadcast(0.0f), extent.taint[j]);
        }
    }
}

void score_strip(Lanes q, const float* k, int64_t k_step, int64_t count, float* scores,
                 Extent& extent) {
    int64_t o = 0;
    for (; o + 6 <= count; o += 6) score_offsets<6>(q, k + o, k_step, scores + o * n_lane, extent);
    k += o;
    scores += o * n_lane;
    switch (count - o) {
        case 5: return score_offsets<5>(q, k, k_step, scores, extent);
        case 4: return score_offsets<4>(q, k, k_step, scores, extent);
        case 3: return score_offsets<3>(q, k, k_step, scores, extent);
        case 2: return score_offsets<2>(q, k, k_step, scores, extent);
        case 1: return score_offsets<1>(q, k, k_step, scores, extent);
    }
}

/// Weights are at least 2^-90: times a quadrature weight, still a normal number.
constexpr float lowest_exponent = -90;

struct Limits {
    Vector largest[n_vector], lowest[n_vector];
};

/// Scores of n_row neighbors become weights, in place.
template <int n_row>
HWY_INLINE void weigh_rows(const Limits& limits, float row_weight, float* scores, Vector* sum) {
    Vector x[n_row * n_vector];
#pragma GCC unroll 8
    for (int j = 0; j < n_row * n_vector; ++j) {
        const Vector score = at_least(limits.lowest[j % n_vector], load(scores + j * width));
        x[j] = hn::Sub(score, limits.largest[j % n_vector]);
    }
    powers_of_two(x);
#pragma GCC unroll 8
    for (int j = 0; j < n_row * n_vector; ++j) {
        x[j] = hn::Mul(x[j], broadcast(row_weight));
        sum[j % n_vector] = hn::Add(sum[j % n_vector], x[j]);
        store(x[j], scores + j * width);
    }
}

void weigh_strip(const Limits& limits, float row_weight, int64_t count, float* scores,
                 Vector* sum) {
    constexpr int n_row = width == 16 ? 4 : 2;
    int64_t i = 0;
    for (; i + n_row <= count; i += n_row)
        weigh_rows<n_row>(limits, row_weight, scores + i * n_lane, sum);
    for (; i < count; ++i) weigh_rows<1>(limits, row_weight, scores + i * n_lane, sum);
}

/// y(c, lane) = inverse(lane) sum_j weight(j, lane) v(c, j) for n_row channels.
template <int n_row>
HWY_INLINE void gather_rows(const Neighbors& values, const float* weights, const float* inverse,
                            int64_t c, float* y, int64_t y_row) {
    Vector sum[n_row][n_vector];
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) sum[r][j] = broadcast(0.0f);
    }
    for (const Strip& strip : values.strips) {
        const int64_t step = values.step(strip);
        const float* v = values.at(strip) + c * step;
        for (int64_t o = 0; o < strip.count; ++o, ++v, weights += n_lane) {
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) {
                const Vector weight = load(weights + j * width);
#pragma GCC unroll 8
                for (int r = 0; r < n_row; ++r)
                    sum[r][j] = mul_add(weight, load(v + r * step + j * width), sum[r][j]);
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j)
            store(hn::Mul(sum[r][j], load(inverse + j * width)), y + r * y_row + j * width);
    }
}

void gather_values(const Neighbors& values, int64_t n_dim, const float* weights,
                   const float* inverse, float* y, int64_t y_row) {
    int64_t c = 0;
    for (; c + 6 <= n_dim; c += 6)
        gather_rows<6>(values, weights, inverse, c, y + c * y_row, y_row);
    for (; c < n_dim; ++c) gather_rows<1>(values, weights, inverse, c, y + c * y_row, y_row);
}

/// weight of strip s: row_weight[strips[s].row]
void attend_lanes(Lanes q, const Neighbors& keys, const Neighbors& values, int64_t n_value_dim,
                  const float* row_weight, float* scores, float* y, int64_t y_row) {
    Extent extent;
    for (int j = 0; j < n_vector; ++j) {
        extent.maximum[j] = broadcast(no_score);
        extent.taint[j] = broadcast(0.0f);
    }
    int64_t n = 0;
    for (const Strip& strip : keys.strips) {
        score_strip(q, keys.at(strip), keys.step(strip), strip.count, scores + n * n_lane, extent);
        n += strip.count;
    }
    Limits limits;
    for (int j = 0; j < n_vector; ++j) {
        limits.largest[j] = tame_huge_scores(extent.maximum[j], n, n_lane, scores + j * width);
        limits.lowest[j] = hn::Add(limits.largest[j], broadcast(lowest_exponent));
    }
    Vector* sum = extent.taint;
    n = 0;
    for (const Strip& strip : keys.strips) {
        weigh_strip(limits, row_weight[strip.row], strip.count, scores + n * n_lane, sum);
        n += strip.count;
    }
    alignas(64) float inverse[n_lane];
    for (int j = 0; j < n_vector; ++j) store(hn::Div(broadcast(1.0f), sum[j]), inverse + j * width);
    gather_values(values, n_value_dim, scores, inverse, y, y_row);
}

void attend_neighbors(const Heads& heads, Tile<const float> q, int64_t first_column,
                      std::span<const Strip> strips, Rings<const float> k, Rings<const float> v,
                      const float* weight, float* scratch, Tile<float> y) {
    const int64_t n_query = round_up(q.shape[1], lane_count);
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim;
    const float* row_weight = weight - k.layout->first_row() * k.layout->n_phase();
    for (int64_t h = 0; h < heads.n_head; ++h) {
        for (int64_t i = 0; i < n_query; i += n_lane)
            attend_lanes({q.data + h * d * q.stride[0] + i, q.stride[0], d},
                         {strips, k, h * d, first_column + i}, {strips, v, h * e, first_column + i},
                         e, row_weight, scratch, y.data + h * e * y.stride[0] + i, y.stride[0]);
    }
}

}  // namespace
}  // namespace surrogate::kernels::sphere::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::sphere::simd {

void attend_neighbors(VectorLevel level, const Heads& heads, Tile<const float> q,
                      int64_t first_column, std::span<const Strip> strips, Rings<const float> k,
                      Rings<const float> v, const float* weight, float* scratch, Tile<float> y) {
    SURROGATE_AT_LEVEL(level, attend_neighbors)
    (heads, q, first_column, strips, k, v, weight, scratch, y);
}

}  // namespace surrogate::kernels::sphere::simd
#endif
