// SPDX-License-Identifier: Apache-2.0
// Softmax over keys for vector lanes of queries: the one microkernel of encode (lanes are latents,
// keys are points) and decode (lanes are points, keys are latents). This file is compiled once per
// SIMD instruction set; see flare.md.
#if defined(SURROGATE_ATTEND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_ATTEND_INL_H_
#undef SURROGATE_ATTEND_INL_H_
#else
#define SURROGATE_ATTEND_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>

#include "kernels/attention/softmax-inl.h"
#include "kernels/flare/flare.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::flare::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Number of vectors of lanes that are processed together.
constexpr int most_vectors = width == 1 ? 1 : 2;

/// Queries: element (d, lane) at data[d * row + lane].
struct LaneQueries {
    const float* data;
    int64_t row;
};

/// Running softmax: value(d, lane) is at value[d * row + lane]. The caller chooses the memory.
struct State {
    float *maximum, *sum, *value;
    int64_t row;

    State from(int64_t lane) const { return {maximum + lane, sum + lane, value + lane, row}; }
};

/// Layout of keys and values: element (i, d) is at keys[i * step() + d * key_dim_step()], values
/// likewise. Steps are compile-time constants in the important cases: with variable steps the
/// compiler runs out of registers for addresses.
template <int64_t dim>
struct PackedPoints {  // rows of a tile, copied to rows of max_keys
    static constexpr int64_t n_dim() { return dim; }
    static constexpr int64_t step() { return 1; }
    static constexpr int64_t key_dim_step() { return max_keys; }
    static constexpr int64_t value_dim_step() { return max_keys; }
};
template <int64_t dim>
struct Latents {  // (M, D)
    static constexpr int64_t n_dim() { return dim; }
    static constexpr int64_t step() { return dim; }
    static constexpr int64_t key_dim_step() { return 1; }
    static constexpr int64_t value_dim_step() { return 1; }
};
struct AnyShape {
    int64_t n_dim_, step_, key_dim_step_, value_dim_step_;
    int64_t n_dim() const { return n_dim_; }
    int64_t step() const { return step_; }
    int64_t key_dim_step() const { return key_dim_step_; }
    int64_t value_dim_step() const { return value_dim_step_; }
};

/// Rows that are used next: two groups of n_row rows of n_column numbers. They are asked for a few
/// at a time between the phases of the current rows, because a processor has only 10 to 16 requests
/// to the memory in flight.
struct RowsAhead {
    const float* rows[2];
    int64_t row[2], n_row, n_column;
    int64_t n_ask = 1;  // rows at a time

    void ask() {
        for (int64_t i = std::min(n_ask, n_row); i > 0; --i, --n_row)
            for (int j : {0, 1}) {
                for (int64_t c = 0; c < n_column; c += lane_count) hwy::Prefetch(rows[j] + c);
                rows[j] += row[j];
            }
    }
};

template <class Shape>
struct Block {
    Shape shape;
    LaneQueries queries;         // (n_dim, lanes)
    const float *keys, *values;  // (n_key, n_dim)
    int64_t n_key;
    const float* key_score = nullptr;  // (n_key): added to all scores of a key; null: 0
    float lowest = any_score;          // no score is smaller
    RowsAhead* ahead = nullptr;

    int64_t key_at(int64_t i, int64_t d) const {
        return i * shape.step() + d * shape.key_dim_step();
    }
    int64_t value_at(int64_t i, int64_t d) const {
        return i * shape.step() + d * shape.value_dim_step();
    }
    /// Returns at most max_keys keys from `first` on.
    Block from(int64_t first) const {
        return {shape,
                queries,
                keys + key_at(first, 0),
                values + value_at(first, 0),
                std::min(max_keys, n_key - first),
                key_score ? key_score + first : nullptr,
                lowest,
                ahead};
    }
};

/// Computes S(i, lane) of n_row keys from i on into the buffer, and updates `maximum`.
template <int n_row, int n_vector, bool has_key_score, class Shape>
HWY_INLINE void score_rows(const Block<Shape>& block, int64_t i, float* scores, Vector* maximum) {
    const float* key = block.keys + block.key_at(i, 0);
    const float* query = block.queries.data;
    const int64_t n_dim = block.shape.n_dim();
    Vector sum[n_row][n_vector];
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
        const Vector k = broadcast(key[block.key_at(r, 0)]);
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) sum[r][j] = hn::Mul(load(query + j * width), k);
    }
#pragma GCC unroll 16
    for (int64_t d = 1; d < n_dim; ++d) {
        query += block.queries.row;
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r) {
            const Vector k = broadcast(key[block.key_at(r, d)]);
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j)
                sum[r][j] = mul_add(load(query + j * width), k, sum[r][j]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            if constexpr (has_key_score)
                sum[r][j] = hn::Add(sum[r][j], broadcast(block.key_score[i + r]));
            store(sum[r][j], scores + ((i + r) * n_vector + j) * width);
            maximum[j] = at_least(sum[r][j], maximum[j]);  // a NaN score is not a maximum
        }
    }
}

// The three phases are separate functions, so that each can use all registers.

template <int n_vector, bool has_key_score = false, class Shape>
HWY_NOINLINE void score_keys(const Block<Shape>& block, float* scores, float* maximum) {
    Vector largest[n_vector];
    for (int j = 0; j < n_vector; ++j) largest[j] = load(maximum + j * width);
    // Chains of sums that hide the latency of two units against registers.
    constexpr int n_row = HWY_TARGET == HWY_AVX3 ? 8 : 4;
    int64_t i = 0;
    for (; i + n_row <= block.n_key; i += n_row)
        score_rows<n_row, n_vector, has_key_score>(block, i, scores, largest);
    for (; i < block.n_key; ++i) score_rows<1, n_vector, has_key_score>(block, i, scores, largest);
    for (int j = 0; j < n_vector; ++j) store(largest[j], maximum + j * width);
}

/// Computes value(d, lane) = rescale * value(d, lane) + sum_i weight(i, lane) v(i, d), for n_row
/// channels from d on.
template <int n_row, int n_vector, class Shape>
HWY_NOINLINE void gather_rows(const Block<Shape>& block, const float* weights, const float* rescale,
                              int64_t d, State state) {
    Vector sum[n_row][n_vector];
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) sum[r][j] = broadcast(0.0f);
    }
    const float* value = block.values + block.value_at(0, d);
    for (int64_t i = 0; i < block.n_key; ++i, value += block.shape.step()) {
        Vector weight[n_vector];
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) weight[j] = load(weights + (i * n_vector + j) * width);
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r) {
            const Vector v = broadcast(value[block.value_at(0, r)]);
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) sum[r][j] = mul_add(weight[j], v, sum[r][j]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            float* place = state.value + (d + r) * state.row + j * width;
            store(mul_add(load(place), load(rescale + j * width), sum[r][j]), place);
        }
    }
}

template <int n_vector, class Shape>
HWY_INLINE void gather_values(const Block<Shape>& block, const float* weights, const float* rescale,
                              State state) {
    const int64_t n_dim = block.shape.n_dim();
    int64_t d = 0;
#if HWY_TARGET == HWY_AVX3  // 8 x 2 sums fit the 32 registers
    for (; d + 8 <= n_dim; d += 8) gather_rows<8, n_vector>(block, weights, rescale, d, state);
#endif
    for (; d + 4 <= n_dim; d += 4) gather_rows<4, n_vector>(block, weights, rescale, d, state);
    for (; d < n_dim; ++d) gather_rows<1, n_vector>(block, weights, rescale, d, state);
}

/// Adds at most max_keys keys to the state of n_vector vectors of lanes. The scores become weights
/// (n_key, n_lane), relative to the new maximum.
template <int n_vector, class Shape>
HWY_INLINE void attend_block(const Block<Shape>& block, State state, float* scores) {
    constexpr int64_t n_lane = n_vector * width;
    alignas(64) float maximum[n_lane], rescale[n_lane], sum[n_lane];
    for (int64_t j = 0; j < n_lane; j += width) store(load(state.maximum + j), maximum + j);
    if (block.key_score) {
        score_keys<n_vector, true>(block, scores, maximum);
    } else {
        score_keys<n_vector>(block, scores, maximum);
    }
    weigh_block<n_vector>(block.n_key, scores, maximum, state.maximum, rescale, sum, lowest_power,
                          block.lowest);
    for (int64_t j = 0; j < n_lane; j += width)
        store(mul_add(load(state.sum + j), load(rescale + j), load(sum + j)), state.sum + j);
    if (block.ahead) block.ahead->ask();
    gather_values<n_vector>(block, scores, rescale, state);
    if (block.ahead) block.ahead->ask();
}

/// Adds all keys to all lanes (a multiple of lane_count) of a state.
template <class Shape>
void attend(const Block<Shape>& all, int64_t n_lane, State state) {
    constexpr int n_vector = most_vectors;
    if (all.ahead) {
        const int64_t n_group = (n_lane + n_vector * width - 1) / (n_vector * width);
        const int64_t n_asked = 2 * n_group * ((all.n_key + max_keys - 1) / max_keys);
        all.ahead->n_ask = (all.ahead->n_row + n_asked - 1) / n_asked;
    }
    alignas(64) float scores[max_keys * n_vector * width];  // (n_key, lanes)
    for (int64_t first = 0; first < all.n_key; first += max_keys) {
        Block<Shape> block = all.from(first);
        int64_t lane = 0;
        for (; lane + n_vector * width <= n_lane; lane += n_vector * width) {
            block.queries.data = all.queries.data + lane;
            attend_block<n_vector>(block, state.from(lane), scores);
        }
        for (; lane < n_lane; lane += width) {
            block.queries.data = all.queries.data + lane;
            attend_block<1>(block, state.from(lane), scores);
        }
    }
}

/// Returns NaN in lanes where a channel of k is not finite, else 0. A NaN of any payload must reach
/// the sums. The exponential alone would not propagate it, because it adds to the exponent bits of
/// a possible NaN.
HWY_INLINE Vector taint_of_lanes(const float* k, int64_t row, int64_t n_dim) {
    Vector taint = broadcast(0.0f);
    for (int64_t d = 0; d < n_dim; ++d) taint = mul_add(load(k + d * row), broadcast(0.0f), taint);
    return taint;
}

/// Queries of one head and the latents that they read: (M, D) arrays.
struct LatentHead {
    const float *keys, *z;
    int64_t n_latent, n_dim;
    float lowest = any_score;    // no score is smaller
    RowsAhead* ahead = nullptr;  // of the points
};

}  // namespace surrogate::kernels::flare::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
