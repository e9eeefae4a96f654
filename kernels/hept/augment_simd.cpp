// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/hept/augment_simd.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "kernels/hept/hept.hpp"
#include "kernels/hept/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::hept::HWY_NAMESPACE {
namespace {

using Double = hn::ScalableTag<double>;
using Single = hn::Rebind<float, Double>;
using DoubleVector = hn::Vec<Double>;
constexpr int64_t double_width = static_cast<int64_t>(HWY_LANES(double));

/// Some points of a tile in parts: q, k, v (d, ..) and s x (D, ..), rows of tile_points.
struct Parts {
    RowShape shape;
    const float *qkv, *x;

    /// Returns number c of the future rows; null: zeros.
    const float* channel(int64_t c) const {
        const auto [d, n_coordinate] = shape;
        if (c < d) return qkv + c * tile_points;
        if (c < d + n_coordinate) return x + (c - d) * tile_points;
        return c < shape.n_used() ? qkv + (c - n_coordinate) * tile_points : nullptr;
    }
};

/// Sums of the queries and keys of some points in n_table tables, and their squares. A product of
/// two floats is exact in double, so fused and separate operations give the same number.
template <int n_table>
struct HashSums {
    DoubleVector query[n_table], key[n_table], query_square, key_square;

    HashSums() : query_square(hn::Zero(Double())), key_square(hn::Zero(Double())) {
        for (int t = 0; t < n_table; ++t) query[t] = key[t] = hn::Zero(Double());
    }

    /// Adds one component; alpha of the tables has stride n_query.
    HWY_INLINE void add(const float* q, const float* k, const float* alpha, int64_t n_query) {
        const DoubleVector a = hn::PromoteTo(Double(), hn::LoadU(Single(), q));
        const DoubleVector b = hn::PromoteTo(Double(), hn::LoadU(Single(), k));
#pragma GCC unroll 8
        for (int t = 0; t < n_table; ++t) {
            const auto factor = hn::Set(Double(), static_cast<double>(alpha[t * n_query]));
            query[t] = hn::MulAdd(a, factor, query[t]);
            key[t] = hn::MulAdd(b, factor, key[t]);
        }
        query_square = hn::MulAdd(a, a, query_square);
        key_square = hn::MulAdd(b, b, key_square);
    }
};

/// Writes the hashes. They are rounded one by one: at the scalar level Highway compares before it
/// rounds, and a NaN would trap.
HWY_INLINE void write_hashes(DoubleVector sum, int64_t n, uint32_t* to) {
    double hash[double_width];
    hn::StoreU(sum, Double(), hash);
    for (int64_t l = 0; l < n; ++l) to[l] = ordered_bits(static_cast<float>(hash[l]));
}

/// Returns true if the squares of all n points are small enough. Quiet: a NaN does not trap.
HWY_INLINE bool are_good(DoubleVector square, int64_t n) {
    double value[double_width];
    hn::StoreU(square, Double(), value);
    bool is_good = true;
    for (int64_t l = 0; l < n; ++l) is_good = is_good && std::isless(value[l], largest_square);
    return is_good;
}

/// Computes hashes of points first .. first + n - 1, double_width of them at most, in tables table
/// .. table + n_table - 1. Returns true if their squares are small enough.
template <int n_table>
HWY_NOINLINE bool hash_points(const Head<float>& head, const Parts& parts, int64_t first, int64_t n,
                              int64_t table, const Hashes& hashes) {
    const auto [d, n_coordinate] = head.shape;
    const int64_t n_query = head.shape.n_query();
    const float *alpha = head.alpha + table * n_query, *at = parts.qkv + first;
    HashSums<n_table> sums;
    for (int64_t c = 0; c < d; ++c, at += tile_points)
        sums.add(at, at + d * tile_points, alpha + c, n_query);
    at = parts.x + first;
    for (int64_t r = 0; r < n_coordinate; ++r, at += tile_points)
        sums.add(at, at, alpha + d + r, n_query);
    for (int t = 0; t < n_table; ++t) {
        uint32_t* to = hashes.data + (table + t) * hashes.stride + first;
        write_hashes(sums.query[t], n, to);
        write_hashes(sums.key[t], n, to + head.n_table * hashes.stride);
    }
    return are_good(sums.query_square, n) && are_good(sums.key_square, n);
}

/// Computes s x of the points.
HWY_INLINE void scale(const Head<float>& head, Tile<const float> x, float* to) {
    for (int64_t r = 0; r < head.shape.n_coordinate; ++r) {
        const float* from = x.data + r * x.stride[0];
        for (int64_t i = 0; i < round_up(x.shape[1], lane_count); i += width)
            store(hn::Mul(broadcast(head.scale[r]), load(from + i)), to + r * tile_points + i);
    }
}

/// Writes the rows of points first .. first + n - 1, lane_count of them at most.
HWY_NOINLINE void write_rows(const Parts& parts, int64_t first, int64_t n, float* rows) {
    alignas(64) static constexpr float zeros[lane_count] = {};
    const int64_t stride = parts.shape.stride();
    for (int64_t c = 0; c < stride; c += width) {
        const float* from[width];
        for (int64_t e = 0; e < width; ++e) {
            const float* channel = parts.channel(c + e);
            from[e] = channel ? channel + first : zeros;
        }
        alignas(64) float lanes[lane_count * width];  // (lane_count, width)
        transpose<1>(from, 0, lane_count, lanes);
        for (int64_t i = 0; i < n; ++i)
            store(load(lanes + i * width), rows + (first + i) * stride + c);
    }
}

bool finish(const Head<float>& head, Tile<const float> x, float* qkv, float* scaled, float* rows,
            const Hashes& hashes) {
    const int64_t n_point = x.shape[1];
    const Parts parts{head.shape, qkv, scaled};
    scale(head, x, scaled);
    bool is_good = true;
    for (int64_t i = 0; i < n_point; i += double_width) {
        const int64_t n = std::min(double_width, n_point - i), stride = head.shape.stride();
        for (int64_t c = i * stride; c < (i + n) * stride; c += lane_count)
            __builtin_prefetch(rows + c, 0, 2);  // written below
        for_blocks_of_6(head.n_table, [&](int64_t t, auto n_table) HWY_ATTR {
            is_good =
                hash_points<decltype(n_table)::value>(head, parts, i, n, t, hashes) && is_good;
        });
    }
    for (int64_t i = 0; i < n_point; i += lane_count)
        write_rows(parts, i, std::min(lane_count, n_point - i), rows);
    return is_good;
}

}  // namespace
}  // namespace surrogate::kernels::hept::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::hept::simd {

bool augment(VectorLevel level, const Head<float>& head, Tile<const float> u, Tile<const float> x,
             float* scratch, float* rows, const Hashes& hashes) {
    float* const scaled = scratch + head.qkv.n_out * tile_points;
    kernels::simd::linear(level, head.qkv, u, {},
                          {scratch, {head.qkv.n_out, u.shape[1]}, {tile_points, 1}});
    return SURROGATE_AT_LEVEL(level, finish)(head, x, scratch, scaled, rows, hashes);
}

}  // namespace surrogate::kernels::hept::simd
#endif
