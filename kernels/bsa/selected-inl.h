// SPDX-License-Identifier: Apache-2.0
// Products of a few queries with the keys of a group. This file is compiled once per SIMD
// instruction set. Lanes run along keys.
#if defined(SURROGATE_SELECTED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_SELECTED_INL_H_
#undef SURROGATE_SELECTED_INL_H_
#else
#define SURROGATE_SELECTED_INL_H_
#endif

#include <hwy/cache_control.h>

#include <cstring>

#include "kernels/attention/softmax-inl.h"
#include "kernels/bsa/bsa.hpp"
#include "kernels/bsa/join-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::bsa::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Number of queries that are processed together, whose sums are joined at once.
constexpr int64_t max_queries = n_joined;

/// Keys and values of a group side by side, for one head:
///   k (round_up(d, 8), row), v (round_up(e, 8), row), row = round_up(n_key, lane_count)
/// Columns from n_key on, and channels from d and e on, are zeros.
struct Packed {
    int64_t n_key, row;
    float *k, *v;
};

/// Columns of a tile from one query on, channel 0 of one head at `data`.
struct Queries {
    const float* data;
    int64_t row, n;
};

template <int n>
HWY_INLINE void copy(const float* from, float* to) {
    std::memcpy(to, from, n * sizeof(float));
}

/// Copies l floats, l a power of two.
HWY_INLINE void copy_slots(const float* from, int64_t l, float* to) {
    if (l == 1) return copy<1>(from, to);
    if (l == 2) return copy<2>(from, to);
    if (l == 4) return copy<4>(from, to);
    for (int64_t t = 0; t < l; t += 8) copy<8>(from + t, to + t);
}

/// Adds l floats.
HWY_INLINE void add_slots(const float* from, int64_t l, float* to) {
    if (l % 8 > 0) {
        for (int64_t t = 0; t < l; ++t) to[t] += from[t];
        return;
    }
    for (int64_t first = 0; first < l; first += 8) {
#pragma GCC unroll 8
        for (int64_t t = first; t < first + 8; ++t) to[t] += from[t];
    }
}

/// Packs n_dim channels of n_block blocks, from k or v of KeyBlock.
HWY_INLINE void pack_rows(const KeyBlock<const float>* blocks,
                          const float* KeyBlock<const float>::*rows, int64_t n_block, int64_t l,
                          int64_t n_dim, int64_t row, float* to) {
    for (int64_t b = 0; b < n_block; ++b) {
        const float* from = blocks[b].*rows;
        for (int64_t c = 0; c < n_dim; ++c)
            copy_slots(from + c * blocks[b].row, l, to + c * row + b * l);
    }
    for (int64_t c = 0; c < n_dim; ++c) {
        for (int64_t j = n_block * l; j < row; ++j) to[c * row + j] = 0;
    }
    for (int64_t c = n_dim; c < round_up(n_dim, n_joined); ++c) {
        for (int64_t j = 0; j < row; ++j) to[c * row + j] = 0;
    }
}

/// Prefetches the memory that pack_rows() will read: blocks are at arbitrary addresses, which a
/// hardware prefetcher cannot predict.
HWY_INLINE void prefetch_rows(const KeyBlock<const float>& block, const Heads& heads, int64_t l) {
    for (int64_t t = 0; t < l; t += lane_count) {
        for (int64_t c = 0; c < heads.n_key_dim; ++c) hwy::Prefetch(block.k + c * block.row + t);
        for (int64_t c = 0; c < heads.n_value_dim; ++c) hwy::Prefetch(block.v + c * block.row + t);
    }
}

/// Computes products(i, j) = sum_c q(c, i) k(c, j) for n_query queries and n_vector vectors of
/// keys.
template <int n_query, int n_vector>
HWY_INLINE void multiply_block(Queries q, const float* k, int64_t row, int64_t n_dim,
                               float* products) {
    Vector sum[n_query][n_vector];
#pragma GCC unroll 4
    for (int i = 0; i < n_query; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < n_vector; ++j) sum[i][j] = broadcast(0.0f);
    }
#pragma GCC unroll 2
    for (int64_t c = 0; c < n_dim; ++c) {
        Vector key[n_vector];
#pragma GCC unroll 4
        for (int j = 0; j < n_vector; ++j) key[j] = load(k + c * row + j * width);
#pragma GCC unroll 4
        for (int i = 0; i < n_query; ++i) {
            const Vector x = broadcast(q.data[c * q.row + i]);
#pragma GCC unroll 4
            for (int j = 0; j < n_vector; ++j) sum[i][j] = mul_add(x, key[j], sum[i][j]);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < n_query; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < n_vector; ++j) store(sum[i][j], products + i * row + j * width);
    }
}

template <int n_query>
HWY_INLINE void multiply_some(Queries q, const float* k, int64_t row, int64_t n_dim,
                              float* products) {
    int64_t j = 0;
    for (; j + 2 * width <= row; j += 2 * width)
        multiply_block<n_query, 2>(q, k + j, row, n_dim, products + j);
    for (; j < row; j += width) multiply_block<n_query, 1>(q, k + j, row, n_dim, products + j);
}

/// Computes the products (q.n, row) of all queries with all keys.
inline HWY_NOINLINE void multiply(Queries q, const float* k, int64_t row, int64_t n_dim,
                                  float* products) {
    int64_t i = 0;
    for (; i + 4 <= q.n; i += 4)
        multiply_some<4>({q.data + i, q.row, 4}, k, row, n_dim, products + i * row);
    for (; i < q.n; ++i)
        multiply_some<1>({q.data + i, q.row, 1}, k, row, n_dim, products + i * row);
}

/// Computes the scores (q.n, row); columns from n_key on get no_score.
HWY_INLINE void score(Queries q, const Packed& keys, int64_t n_dim, float* scores) {
    multiply(q, keys.k, keys.row, n_dim, scores);
    for (int64_t i = 0; i < q.n && keys.n_key < keys.row; ++i) {
        for (int64_t j = keys.n_key; j < keys.row; ++j) scores[i * keys.row + j] = no_score;
    }
}

/// Writes factor sum_j weight(j) x(c, j) of 8 channels to sums[joined_place(c)].
inline HWY_NOINLINE void average_rows(const float* weights, const float* x, int64_t row,
                                      float factor, float* sums) {
    Vector sum[n_joined][n_part];
#pragma GCC unroll 8
    for (int c = 0; c < n_joined; ++c) {
#pragma GCC unroll 2
        for (int j = 0; j < n_part; ++j) sum[c][j] = broadcast(0.0f);
    }
    for (int64_t first = 0; first < row; first += lane_count) {
#pragma GCC unroll 2
        for (int j = 0; j < n_part; ++j) {
            const Vector weight = load(weights + first + j * width);
#pragma GCC unroll 8
            for (int c = 0; c < n_joined; ++c)
                sum[c][j] = mul_add(weight, load(x + c * row + first + j * width), sum[c][j]);
        }
    }
    join_rows(sum, factor, sums);
}

}  // namespace surrogate::kernels::bsa::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
