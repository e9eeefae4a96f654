// SPDX-License-Identifier: Apache-2.0
// Softmax over keys for vector lanes of queries: the one microkernel behind encode (lanes are latents, keys are points)
// and decode (lanes are points, keys are latents). Compiled once per vector level; see flare.md.
#if defined(SURROGATE_ATTEND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_ATTEND_INL_H_
#undef SURROGATE_ATTEND_INL_H_
#else
#define SURROGATE_ATTEND_INL_H_
#endif

#include <algorithm>

#include "kernels/base/vector-inl.h"
#include "kernels/flare/flare.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::flare::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Keys of one pass through the score buffer: 128 keys x 16 lanes x 4 bytes = 8 KiB, a quarter of a first-level cache.
constexpr int64_t max_keys = 128;

/// Queries: element (d, lane) at data[d * row + lane].
struct LaneQueries {
    const float* data;
    int64_t row;
};

/// Softmax under way: value(d, lane) at value[d * row + lane]. Where it lies is the caller's choice.
struct State {
    float *maximum, *sum, *value;
    int64_t row;

    State from(int64_t lane) const { return {maximum + lane, sum + lane, value + lane, row}; }
};

/// Keys or values: element (i, d) at data[i * step + d * dim_step].
struct Keys {
    const float* data;
    int64_t step, dim_step;

    const float* at(int64_t i, int64_t d) const { return data + i * step + d * dim_step; }
    Keys from(int64_t i) const { return {data + i * step, step, dim_step}; }
};

struct Block {
    LaneQueries queries;  // (n_dim, lanes)
    Keys keys, values;    // (n_key, n_dim)
    int64_t n_key, n_dim;
};

/// Scores above this size need the careful path: neighbouring floats are then so far apart that m - 125 may round to m.
constexpr float huge_score = 0x1p20f;

/// Lower limit of scores beside a maximum m: low enough that 2^(limit - m) counts as nothing, and m - limit is exact
/// enough. For huge m a fixed distance would be lost in rounding, so the distance grows with m.
HWY_INLINE Vector lowest_beside(Vector m) {
    const Vector size = hn::Abs(m);
    const Vector distance =
        hn::IfThenElse(hn::Lt(size, broadcast(huge_score)), broadcast(-lowest_power),
                       hn::Mul(size, broadcast(0x1p-10f)));
    return hn::Sub(m, distance);
}

/// 2^(a - m) for any finite a <= m, at least 2^-125.
HWY_INLINE Vector power_of_difference(Vector a, Vector m) {
    const Vector x = hn::Sub(at_least(lowest_beside(m), a), m);
    return power_of_two(at_least(broadcast(lowest_power), x));
}

/// S(i, lane) of n_row keys from i on, stored in the buffer; `maximum` follows.
template <int64_t fixed_dim, int n_row, int n_vector>
HWY_INLINE void score_rows(const Block& block, int64_t i, float* scores, Vector* maximum) {
    const int64_t n_dim = fixed_dim ? fixed_dim : block.n_dim;
    Vector sum[n_row][n_vector];
#pragma GCC unroll 4
    for (int r = 0; r < n_row; ++r) {
        const Vector key = broadcast(*block.keys.at(i + r, 0));
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j)
            sum[r][j] = hn::Mul(load(block.queries.data + j * width), key);
    }
#pragma GCC unroll 8
    for (int64_t d = 1; d < n_dim; ++d) {
        const float* query = block.queries.data + d * block.queries.row;
#pragma GCC unroll 4
        for (int r = 0; r < n_row; ++r) {
            const Vector key = broadcast(*block.keys.at(i + r, d));
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j)
                sum[r][j] = mul_add(load(query + j * width), key, sum[r][j]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            store(sum[r][j], scores + ((i + r) * n_vector + j) * width);
            maximum[j] = at_least(sum[r][j], maximum[j]);  // a NaN score is no maximum
        }
    }
}

template <int64_t fixed_dim, int n_vector>
HWY_INLINE void score_keys(const Block& block, float* scores, Vector* maximum) {
    int64_t i = 0;
    for (; i + 4 <= block.n_key; i += 4)
        score_rows<fixed_dim, 4, n_vector>(block, i, scores, maximum);
    for (; i < block.n_key; ++i) score_rows<fixed_dim, 1, n_vector>(block, i, scores, maximum);
}

/// In lanes whose maximum is huge, replaces scores by max(-125, S - m) and m by 0. Others stay as they are: their bits
/// must not depend on which lanes share a vector with them.
HWY_INLINE Vector tame_huge_scores(Vector maximum, int64_t n_key, int64_t step, float* scores) {
    const auto moderate = hn::Lt(hn::Abs(maximum), broadcast(huge_score));
    if (hn::AllTrue(Tag(), moderate)) return maximum;
    const Vector lowest = lowest_beside(maximum);
    for (int64_t i = 0; i < n_key; ++i) {
        const Vector score = load(scores + i * step);
        const Vector below = hn::Sub(at_least(lowest, score), maximum);
        const Vector tame = at_least(broadcast(lowest_power), below);
        store(hn::IfThenElse(moderate, score, tame), scores + i * step);
    }
    return hn::IfThenElse(moderate, maximum, broadcast(0.0f));
}

/// Scores become weights 2^(S - m), in place; returns their sum in `sum`. A NaN score gives a NaN weight.
template <int n_vector>
HWY_INLINE void weigh_keys(int64_t n_key, const Vector* maximum, float* scores, Vector* sum) {
    Vector lowest[n_vector];
    for (int j = 0; j < n_vector; ++j) {
        sum[j] = broadcast(0.0f);
        lowest[j] = hn::Add(maximum[j], broadcast(lowest_power));
    }
    for (int64_t i = 0; i < n_key; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            float* place = scores + (i * n_vector + j) * width;
            const Vector weight =
                power_of_two(hn::Sub(at_least(lowest[j], load(place)), maximum[j]));
            sum[j] = hn::Add(sum[j], weight);
            store(weight, place);
        }
    }
}

/// value(d, lane) = rescale * value(d, lane) + sum_i weight(i, lane) v(i, d), for n_row channels from d on.
template <int n_row, int n_vector>
HWY_INLINE void gather_rows(const Block& block, const float* weights, const Vector* rescale,
                            int64_t d, State state) {
    Vector sum[n_row][n_vector];
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) sum[r][j] = broadcast(0.0f);
    }
    for (int64_t i = 0; i < block.n_key; ++i) {
        Vector weight[n_vector];
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) weight[j] = load(weights + (i * n_vector + j) * width);
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r) {
            const Vector value = broadcast(*block.values.at(i, d + r));
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) sum[r][j] = mul_add(weight[j], value, sum[r][j]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            float* place = state.value + (d + r) * state.row + j * width;
            store(mul_add(load(place), rescale[j], sum[r][j]), place);
        }
    }
}

template <int n_vector>
HWY_INLINE void gather_values(const Block& block, const float* weights, const Vector* rescale,
                              State state) {
    int64_t d = 0;
#if HWY_TARGET == HWY_AVX3  // 8 x 2 sums fit the 32 registers
    for (; d + 8 <= block.n_dim; d += 8)
        gather_rows<8, n_vector>(block, weights, rescale, d, state);
#endif
    for (; d + 4 <= block.n_dim; d += 4)
        gather_rows<4, n_vector>(block, weights, rescale, d, state);
    for (; d < block.n_dim; ++d) gather_rows<1, n_vector>(block, weights, rescale, d, state);
}

/// Adds at most max_keys keys to the state of n_vector vectors of lanes. A query with a NaN makes its sum NaN.
template <int64_t fixed_dim, int n_vector>
HWY_INLINE void attend_block(const Block& block, State state) {
    alignas(64) float scores[max_keys * n_vector * width];  // (n_key, n_vector * width)
    Vector maximum[n_vector], rescale[n_vector], sum[n_vector];
    for (int j = 0; j < n_vector; ++j) maximum[j] = load(state.maximum + j * width);
    score_keys<fixed_dim, n_vector>(block, scores, maximum);
    for (int j = 0; j < n_vector; ++j) {
        rescale[j] = power_of_difference(load(state.maximum + j * width), maximum[j]);
        store(maximum[j], state.maximum + j * width);
        maximum[j] =
            tame_huge_scores(maximum[j], block.n_key, n_vector * width, scores + j * width);
    }
    weigh_keys<n_vector>(block.n_key, maximum, scores, sum);
    for (int j = 0; j < n_vector; ++j) {
        float* place = state.sum + j * width;
        store(mul_add(load(place), rescale[j], sum[j]), place);
    }
    gather_values<n_vector>(block, scores, rescale, state);
}

/// All lanes (a multiple of lane_count) of a state over all keys.
template <int64_t fixed_dim>
void attend_lanes(const Block& all, int64_t n_lane, State state) {
    constexpr int n_vector = width == 1 ? 1 : 2;
    for (int64_t first = 0; first < all.n_key; first += max_keys) {
        Block block = all;
        block.keys = all.keys.from(first);
        block.values = all.values.from(first);
        block.n_key = std::min(max_keys, all.n_key - first);
        int64_t lane = 0;
        for (; lane + n_vector * width <= n_lane; lane += n_vector * width) {
            block.queries.data = all.queries.data + lane;
            attend_block<fixed_dim, n_vector>(block, state.from(lane));
        }
        for (; lane < n_lane; lane += width) {
            block.queries.data = all.queries.data + lane;
            attend_block<fixed_dim, 1>(block, state.from(lane));
        }
    }
}

/// Head sizes of published models get their own instance; every other runs the same operations in a loop.
inline void attend(const Block& block, int64_t n_lane, State state) {
    switch (block.n_dim) {
        case 4: return attend_lanes<4>(block, n_lane, state);
        case 8: return attend_lanes<8>(block, n_lane, state);
        default: return attend_lanes<0>(block, n_lane, state);
    }
}

}  // namespace surrogate::kernels::flare::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
