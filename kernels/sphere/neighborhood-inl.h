// SPDX-License-Identifier: Apache-2.0
// Neighborhood attention of a pair of query rows, one vector of columns at a time: scores, weights
// and sums over strips. Compiled once per vector level; see sphere.md.
#if defined(SURROGATE_NEIGHBORHOOD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_NEIGHBORHOOD_INL_H_
#undef SURROGATE_NEIGHBORHOOD_INL_H_
#else
#define SURROGATE_NEIGHBORHOOD_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>

#include "kernels/base/softmax-inl.h"
#include "kernels/sphere/attention.hpp"
#include "kernels/sphere/pair_strips.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Rows of the score buffer that a strip takes, each of one vector a row of the pair: one an offset,
/// or one a column of the band that any lane sees.
HWY_INLINE int64_t n_entry(const PairStrip& strip) {
    return strip.is_band() ? strip.count + width - 1 : strip.count;
}
HWY_INLINE int64_t n_score(const PairStrip& strip) {
    return n_entry(strip) * strip.n_line() * width;
}

/// Keeps a loaded vector in a register. GCC 12 reads memory again for every use of an unaligned load,
/// as operand of each multiply-add: twice the loads, which are what short strips wait for.
HWY_INLINE Vector in_register(Vector v) {
#if HWY_TARGET != HWY_SCALAR && HWY_ARCH_X86 && HWY_COMPILER_GCC
    asm("" : "+v"(v.raw));
#endif
    return v;
}

/// Largest score of each row so far, and 0 or NaN if a score is none: the exponential alone would not
/// carry every NaN on (flare.md).
struct Extent {
    Vector maximum[2], taint[2];
};

/// What scores of a strip read and write, from an entry on. Queries are packed (c, row of the pair,
/// lane); keys start at the first column that lane 0 sees.
struct ScoreBlock {
    const float* q;
    const float* k;
    int64_t k_step, n_dim;
    float* scores;
    const float* ahead;  ///< where keys of the next strip start: they are called into the cache
    int64_t ahead_step, ahead_last;
};

/// The lanes of row `line` that see entry t of a strip.
HWY_INLINE auto sees(const PairStrip& strip, int line, int64_t t) {
    const Tag tag;
    const Vector entry = broadcast(static_cast<float>(t));
    const Vector offset = strip.is_band() ? hn::Sub(entry, hn::Iota(tag, 0.0f)) : entry;
    return hn::And(hn::Ge(offset, broadcast(static_cast<float>(strip.from[line]))),
                   hn::Lt(offset, broadcast(static_cast<float>(strip.to[line]))));
}

/// All lanes of both rows see entries [t, t + n) as far as they share the strip.
HWY_INLINE bool is_seen_by_all(const PairStrip& strip, int64_t t, int64_t n) {
    const int64_t first = strip.is_band() ? t - (width - 1) : t;
    return first >= strip.common_from && t + n <= strip.common_to;
}

/// S of n_line rows with n_key entries. is_band: entry j is column j for all lanes; else column
/// lane + j. `line` is the row if it is one alone.
template <bool is_band, int n_line, int n_key>
HWY_NOINLINE void score_entries(const ScoreBlock& block) {
    Vector sum[n_key][n_line];
#pragma GCC unroll 16
    for (int r = 0; r < n_key; ++r) {
#pragma GCC unroll 2
        for (int l = 0; l < n_line; ++l) sum[r][l] = broadcast(0.0f);
    }
    const float* q = block.q;
    const float* k = block.k;
    const int64_t k_step = block.k_step;
    float* const scores = block.scores;
    const float* ahead = is_band ? k + 16 : block.ahead;
    const int64_t ahead_step = is_band ? k_step : block.ahead_step;
    for (int64_t c = block.n_dim; c > 0; --c, q += 2 * width, k += k_step) {
        hwy::Prefetch(ahead);
        if (!is_band) hwy::Prefetch(ahead + block.ahead_last);
        ahead += ahead_step;
        Vector query[n_line];
#pragma GCC unroll 2
        for (int l = 0; l < n_line; ++l) query[l] = load(q + l * width);
#pragma GCC unroll 16
        for (int r = 0; r < n_key; ++r) {
            const Vector key = is_band ? broadcast(k[r]) : in_register(load(k + r));
#pragma GCC unroll 2
            for (int l = 0; l < n_line; ++l) sum[r][l] = mul_add(query[l], key, sum[r][l]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < n_key; ++r) {
#pragma GCC unroll 2
        for (int l = 0; l < n_line; ++l) store(sum[r][l], scores + (r * n_line + l) * width);
    }
}

template <bool is_band, int n_line>
HWY_INLINE void score_some(int64_t n_key, const ScoreBlock& block) {
    switch (n_key) {
        case 12: return score_entries < is_band, n_line, n_line == 1 ? 12 : 1 > (block);
        case 11: return score_entries < is_band, n_line, n_line == 1 ? 11 : 1 > (block);
        case 10: return score_entries < is_band, n_line, n_line == 1 ? 10 : 1 > (block);
        case 9: return score_entries < is_band, n_line, n_line == 1 ? 9 : 1 > (block);
        case 8: return score_entries < is_band, n_line, n_line == 1 ? 8 : 1 > (block);
        case 7: return score_entries < is_band, n_line, n_line == 1 ? 7 : 1 > (block);
        case 6: return score_entries<is_band, n_line, 6>(block);
        case 5: return score_entries<is_band, n_line, 5>(block);
        case 4: return score_entries<is_band, n_line, 4>(block);
        case 3: return score_entries<is_band, n_line, 3>(block);
        case 2: return score_entries<is_band, n_line, 2>(block);
        default: return score_entries<is_band, n_line, 1>(block);
    }
}

/// All entries of a strip, in blocks of nearly one size: 12 sums fill the 16 registers of AVX2 with
/// what they need, fewer than 8 wait for each other.
template <bool is_band, int n_line>
HWY_INLINE void score_strip(int64_t n, ScoreBlock block) {
    constexpr int64_t most = 12 / n_line;
    while (n > 0) {
        const int64_t n_block = (n + most - 1) / most, n_key = (n + n_block - 1) / n_block;
        score_some<is_band, n_line>(n_key, block);
        block.k += n_key;
        block.scores += n_key * n_line * width;
        n -= n_key;
    }
}

/// Takes the scores of a strip into the extent, as far as lanes see them.
template <int n_line>
HWY_INLINE void extend(const PairStrip& strip, const float* scores, Extent& extent) {
    const int first = n_line == 1 ? strip.line() : 0;
    const int64_t n = n_entry(strip);
    Vector maximum[n_line], taint[n_line];
    for (int l = 0; l < n_line; ++l) {
        maximum[l] = extent.maximum[first + l];
        taint[l] = extent.taint[first + l];
    }
    for (int64_t t = 0; t < n; ++t) {
        const bool is_seen = is_seen_by_all(strip, t, 1);
#pragma GCC unroll 2
        for (int l = 0; l < n_line; ++l, scores += width) {
            Vector score = load(scores);
            if (!is_seen)
                score = hn::IfThenElse(sees(strip, first + l, t), score, broadcast(no_score));
            maximum[l] = at_least(score, maximum[l]);  // a NaN score is no maximum
            taint[l] = mul_add(score, broadcast(0.0f), taint[l]);
        }
    }
    for (int l = 0; l < n_line; ++l) {
        extent.maximum[first + l] = maximum[l];
        extent.taint[first + l] = taint[l];
    }
}

/// Scores of a strip, for the rows that see it.
HWY_INLINE void score(const PairStrip& strip, ScoreBlock block, Extent& extent) {
    const int64_t n = n_entry(strip);
    if (strip.n_line() == 2) {
        strip.is_band() ? score_strip<true, 2>(n, block) : score_strip<false, 2>(n, block);
        return extend<2>(strip, block.scores, extent);
    }
    block.q += strip.line() * width;
    strip.is_band() ? score_strip<true, 1>(n, block) : score_strip<false, 1>(n, block);
    extend<1>(strip, block.scores, extent);
}

/// Weights are at least 2^-90: times a quadrature weight, still a normal number.
constexpr float lowest_exponent = -90;

/// Largest scores of both rows, and sums of weights under way.
struct Weights {
    Vector largest[2], sum[2];
};

/// n vectors of scores from `scores` on, in turns of the n_line rows, become weights.
template <int n_line, int n>
HWY_INLINE void weigh_vectors(const PairStrip& strip, float row_weight, int64_t t, bool is_seen,
                              float* scores, Weights& weights) {
    const int first = n_line == 1 ? strip.line() : 0;
    Vector x[n];
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j) {
        const Vector largest = weights.largest[first + j % n_line];
        const Vector lowest = hn::Add(largest, broadcast(lowest_exponent));
        x[j] = hn::Sub(at_least(lowest, load(scores + j * width)), largest);
    }
    powers_of_two(x);
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j) {
        Vector& sum = weights.sum[first + j % n_line];
        x[j] = hn::Mul(x[j], broadcast(row_weight));
        if (!is_seen)
            x[j] = hn::IfThenElseZero(sees(strip, first + j % n_line, t + j / n_line), x[j]);
        sum = hn::Add(sum, x[j]);
        store(x[j], scores + j * width);
    }
}

template <int n_line>
HWY_NOINLINE void weigh_strip(const PairStrip& strip, float row_weight, float* scores,
                              Weights& state) {
    constexpr int n = 4, n_row = n / n_line;
    const int64_t end = n_entry(strip);
    Weights weights = state;
    int64_t t = 0;
    while (t < end) {
        float* at = scores + t * n_line * width;
        if (is_seen_by_all(strip, t, n_row)) {
            weigh_vectors<n_line, n>(strip, row_weight, t, true, at, weights);
            t += n_row;
        } else {
            weigh_vectors<n_line, n_line>(strip, row_weight, t, false, at, weights);
            t += 1;
        }
    }
    state = weights;
}

/// Scores of a strip become weights, their sums are added.
HWY_INLINE void weigh(const PairStrip& strip, float row_weight, float* scores, Weights& weights) {
    strip.n_line() == 2 ? weigh_strip<2>(strip, row_weight, scores, weights)
                        : weigh_strip<1>(strip, row_weight, scores, weights);
}

/// A strip of values for one vector of columns.
struct ValueStrip {
    const float* v;  ///< channel 0 of the head in the first column that lane 0 sees
    int64_t step, n_entry;
    int n_line, line;
    bool is_band;
};

/// sum(r, first + l) += weight(t, l) v(r, t)
template <bool is_band, int n_line, int first, int n_row>
HWY_INLINE void gather_entries(const ValueStrip& strip, int64_t c, const float* weights,
                               Vector (&sum)[n_row][2]) {
    const int64_t step = strip.step;
    const float* v = strip.v + c * step;
    const float* const end = v + strip.n_entry;
    for (; v < end; ++v, weights += n_line * width) {
        Vector weight[n_line];
#pragma GCC unroll 2
        for (int l = 0; l < n_line; ++l) weight[l] = load(weights + l * width);
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r) {
            const Vector x = is_band ? broadcast(v[r * step]) : in_register(load(v + r * step));
#pragma GCC unroll 2
            for (int l = 0; l < n_line; ++l)
                sum[r][first + l] = mul_add(weight[l], x, sum[r][first + l]);
        }
    }
}

/// y(c, lane) of both rows: row l at y[l] + c * row[l]. If there is one row, both are its own and the
/// second adds nothing.
struct PairSums {
    float* y[2];
    int64_t row[2];
};

/// y(c, lane) += sum_j weight(j, lane) v(c, j) over some strips, for n_row channels from c on.
template <int n_row>
HWY_NOINLINE void gather_rows(std::span<const ValueStrip> strips, int64_t c, const float* weights,
                              const PairSums& sums) {
    Vector sum[n_row][2];
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int l = 0; l < 2; ++l) sum[r][l] = load(sums.y[l] + (c + r) * sums.row[l]);
    }
    for (const ValueStrip& strip : strips) {
        if (strip.n_line == 2) {
            strip.is_band ? gather_entries<true, 2, 0>(strip, c, weights, sum)
                          : gather_entries<false, 2, 0>(strip, c, weights, sum);
        } else if (strip.line == 0) {
            strip.is_band ? gather_entries<true, 1, 0>(strip, c, weights, sum)
                          : gather_entries<false, 1, 0>(strip, c, weights, sum);
        } else {
            strip.is_band ? gather_entries<true, 1, 1>(strip, c, weights, sum)
                          : gather_entries<false, 1, 1>(strip, c, weights, sum);
        }
        weights += strip.n_entry * strip.n_line * width;
    }
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int l = 1; l >= 0; --l) store(sum[r][l], sums.y[l] + (c + r) * sums.row[l]);
    }
}

}  // namespace surrogate::kernels::sphere::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
