// SPDX-License-Identifier: Apache-2.0
// Neighborhood attention of a pair of query rows, one vector of columns at a time: scores, weights
// and sums over a chunk of strips. Compiled once per vector level; see sphere.md.
#if defined(SURROGATE_NEIGHBORHOOD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_NEIGHBORHOOD_INL_H_
#undef SURROGATE_NEIGHBORHOOD_INL_H_
#else
#define SURROGATE_NEIGHBORHOOD_INL_H_
#endif

#include <hwy/cache_control.h>

#include "kernels/base/softmax-inl.h"
#include "kernels/sphere/attention.hpp"
#include "kernels/sphere/block_size.hpp"
#include "kernels/sphere/neighborhood_chunk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Keeps a loaded vector in a register. GCC 12 reads memory again for every use of an unaligned
/// load, as operand of each multiply-add: twice the loads, which are what short strips wait for.
HWY_INLINE Vector in_register(Vector v) {
#if HWY_TARGET != HWY_SCALAR && HWY_ARCH_X86 && HWY_COMPILER_GCC
    asm("" : "+v"(v.raw));
#endif
    return v;
}

/// Largest score of each row so far, and 0 or NaN if a score is none: the exponential alone would
/// not carry every NaN on (flare.md).
struct Extent {
    Vector maximum[2], taint[2];
};

/// One vector of a run's scores: row `line` of the pair.
HWY_INLINE void extend(Vector score, int line, Extent& extent) {
    extent.maximum[line] = at_least(score, extent.maximum[line]);  // a NaN score is no maximum
    extent.taint[line] = mul_add(score, broadcast(0.0f), extent.taint[line]);
}

/// The lanes of row `line` that see column t of a band.
HWY_INLINE auto sees(const PairStrip& strip, int line, int64_t t) {
    const Vector offset = hn::Sub(broadcast(static_cast<float>(t)), hn::Iota(Tag(), 0.0f));
    return hn::And(hn::Ge(offset, broadcast(static_cast<float>(strip.from[line]))),
                   hn::Lt(offset, broadcast(static_cast<float>(strip.to[line]))));
}

/// All lanes of the rows of a band see columns [t, t + n).
HWY_INLINE bool is_seen_by_all(const PairStrip& strip, int64_t t, int64_t n) {
    return t - (width - 1) >= strip.common_from && t + n <= strip.common_to;
}

/// What a block of scores reads and writes: some channels. Queries are packed (c, row of the pair,
/// lane); `ahead` is what the next block will read: it is called into the cache.
struct ScoreBlock {
    const float* q;
    int64_t first_dim, n_dim, lane;
    bool is_first;  ///< channels
    float* scores;
    int64_t step;                 ///< of channels of keys
    const float* const* entries;  ///< by offset: (n_key), channel 0 for lane 0 of the chunk
    const float* k;               ///< band: channel 0 of the first column
    const float *ahead, *ahead_too;
};

/// S of n_line rows with n_key entries.
template <bool is_band, int n_line, int n_key>
HWY_NOINLINE void score_entries(const ScoreBlock& block) {
    Vector sum[n_key][n_line];
    float* const scores = block.scores;
#pragma GCC unroll 8
    for (int r = 0; r < n_key; ++r) {
#pragma GCC unroll 2
        for (int l = 0; l < n_line; ++l) sum[r][l] = broadcast(0.0f);
    }
    if (!block.is_first) {
#pragma GCC unroll 8
        for (int r = 0; r < n_key; ++r) {
#pragma GCC unroll 2
            for (int l = 0; l < n_line; ++l) sum[r][l] = load(scores + (r * n_line + l) * width);
        }
    }
    const float* keys[n_key];
#pragma GCC unroll 8
    for (int r = 0; r < n_key; ++r) keys[r] = is_band ? block.k + r : block.entries[r] + block.lane;
    const float *q = block.q, *ahead = block.ahead, *ahead_too = block.ahead_too;
    const int64_t step = block.step, end = (block.first_dim + block.n_dim) * step;
#pragma GCC unroll 4
    for (int64_t i = block.first_dim * step; i < end; i += step, q += 2 * width) {
        hwy::Prefetch(ahead + i);
        if (!is_band) hwy::Prefetch(ahead_too + i);
        Vector query[n_line];
#pragma GCC unroll 2
        for (int l = 0; l < n_line; ++l) query[l] = load(q + l * width);
#pragma GCC unroll 8
        for (int r = 0; r < n_key; ++r) {
            const float* k = is_band ? keys[0] + i + r : keys[r] + i;
            const Vector key = is_band ? broadcast(*k) : in_register(load(k));
#pragma GCC unroll 2
            for (int l = 0; l < n_line; ++l) sum[r][l] = mul_add(query[l], key, sum[r][l]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < n_key; ++r) {
#pragma GCC unroll 2
        for (int l = 0; l < n_line; ++l) store(sum[r][l], scores + (r * n_line + l) * width);
    }
}

/// 12 sums fill the 16 registers of AVX2 with what they need, fewer than 8 wait for each other.
template <int n_line>
constexpr int64_t most_keys = n_line == 2 ? 6 : 8;

template <bool is_band, int n_line>
HWY_INLINE void score_some(int64_t n_key, const ScoreBlock& block) {
    switch (n_key) {
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

/// What scores of a group of columns read and write: some channels. Vector j of columns has its queries
/// at packed + j * packed_step, its scores at scores + j * score_step.
struct ScoreGroup {
    const float* packed;
    int64_t packed_step;
    float* scores;
    int64_t score_step, n_lane;
    int64_t first_dim, n_dim;
    bool is_first, is_last;  ///< channels
    float *maximum[2], *taint[2];

    Extent extent(int64_t lane) const {
        Extent extent;
        for (int l = 0; l < 2; ++l) {
            extent.maximum[l] = load(maximum[l] + lane);
            extent.taint[l] = load(taint[l] + lane);
        }
        return extent;
    }
    void set_extent(int64_t lane, const Extent& extent) const {
        for (int l = 0; l < 2; ++l) {
            store(extent.maximum[l], maximum[l] + lane);
            store(extent.taint[l], taint[l] + lane);
        }
    }
    ScoreBlock block(const Run& run) const {
        ScoreBlock block{};
        block.first_dim = first_dim;
        block.n_dim = n_dim;
        block.is_first = is_first;
        block.step = run.step;
        return block;
    }
    void set_lane(int64_t lane, int64_t first_line, int64_t at, ScoreBlock& block) const {
        block.lane = lane;
        block.q = packed + lane / width * packed_step + first_line * width;
        block.scores = scores + lane / width * score_step + at;
    }
};

/// Scores of entries [first, first + n) that are done: those that a row does not see may lie far above
/// its maximum, and go.
template <int n_line>
HWY_INLINE void extend_offsets(const Chunk& chunk, int first_line, int64_t first, int64_t n,
                               float* scores, Extent& extent) {
    for (int64_t t = first; t < first + n; ++t) {
        for (int l = 0; l < n_line; ++l, scores += width) {
            if (chunk.is_seen[t][first_line + l])
                extend(load(scores), first_line + l, extent);
            else
                store(broadcast(no_score), scores);
        }
    }
}
template <int n_line>
HWY_INLINE void extend_band(const Run& run, int64_t first, int64_t n, float* scores,
                            Extent& extent) {
    const bool is_seen = is_seen_by_all(run.strip, first, n);
    for (int64_t t = first; t < first + n; ++t) {
        for (int l = 0; l < n_line; ++l, scores += width) {
            const int line = run.first_line + l;
            Vector score = load(scores);
            if (!is_seen) {
                score = hn::IfThenElse(sees(run.strip, line, t), score, broadcast(no_score));
                store(score, scores);
            }
            extend(score, line, extent);
        }
    }
}

/// Blocks of entries are the outer loop: their keys stay in the first-level cache while the vectors of
/// columns pass.
template <int n_line>
HWY_NOINLINE void score_offsets(const Chunk& chunk, const Run& run, const ScoreGroup& group) {
    ScoreBlock block = group.block(run);
    const int64_t end = run.first_entry + run.n_entry;
    int64_t at = 0;
    for (int64_t e = run.first_entry, n; e < end; e += n) {
        n = block_size(end - e, most_keys<n_line>);
        block.entries = chunk.entries + e;
        const int64_t next = std::min(e + n, end - 1), last = std::min(e + n + 5, end - 1);
        for (int64_t lane = 0; lane < group.n_lane; lane += width) {
            group.set_lane(lane, run.first_line, at, block);
            block.ahead = chunk.entries[next] + lane;
            block.ahead_too = chunk.entries[last] + lane + width - 1;
            score_some<false, n_line>(n, block);
            if (!group.is_last) continue;
            Extent extent = group.extent(lane);
            extend_offsets<n_line>(chunk, run.first_line, e, n, block.scores, extent);
            group.set_extent(lane, extent);
        }
        at += n * n_line * width;
    }
}

template <int n_line>
HWY_NOINLINE void score_band(const Run& run, const ScoreGroup& group) {
    ScoreBlock block = group.block(run);
    int64_t at = 0;
    for (int64_t t = 0, n; t < run.n_entry; t += n) {
        n = block_size(run.n_entry - t, most_keys<n_line>);
        for (int64_t lane = 0; lane < group.n_lane; lane += width) {
            group.set_lane(lane, run.first_line, at, block);
            block.k = run.band + lane + t;
            block.ahead = block.k + lane_count;  // a cache line
            score_some<true, n_line>(n, block);
            if (!group.is_last) continue;
            Extent extent = group.extent(lane);
            extend_band<n_line>(run, t, n, block.scores, extent);
            group.set_extent(lane, extent);
        }
        at += n * n_line * width;
    }
}

/// Scores of a run, for the rows that see it.
HWY_INLINE void score_run(const Chunk& chunk, const Run& run, const ScoreGroup& group) {
    if (run.n_line == 2)
        run.is_band ? score_band<2>(run, group) : score_offsets<2>(chunk, run, group);
    else
        run.is_band ? score_band<1>(run, group) : score_offsets<1>(chunk, run, group);
}

/// Weights are at least 2^-90: times a quadrature weight, still a normal number.
constexpr float lowest_exponent = -90;

/// Largest scores of both rows, and sums of weights under way.
struct Weights {
    Vector largest[2], lowest[2], sum[2];
};

/// n vectors of scores, in turns of n_line rows, become weights: each times its factor.
template <int n_line, int n, class Factor>
HWY_INLINE void weigh_vectors(int first_line, const Factor& factor, float* scores,
                              Weights& weights) {
    Vector x[n];
#pragma GCC unroll 4
    for (int j = 0; j < n; ++j) {
        const int line = n_line == 2 ? j % 2 : first_line;
        const Vector score = at_least(weights.lowest[line], load(scores + j * width));
        x[j] = hn::Sub(score, weights.largest[line]);
    }
    powers_of_two(x);
#pragma GCC unroll 4
    for (int j = 0; j < n; ++j) {
        const int line = n_line == 2 ? j % 2 : first_line;
        x[j] = factor(x[j], j / n_line, line);
        weights.sum[line] = hn::Add(weights.sum[line], x[j]);
        store(x[j], scores + j * width);
    }
}

template <int n_line>
HWY_NOINLINE void weigh_offsets(const Chunk& chunk, const Run& run, float* scores, Weights& state) {
    constexpr int n_row = 4 / n_line;
    Weights weights = state;
    const float(*weight)[2] = chunk.weights + run.first_entry;
    const auto factor = [&](Vector power, int r, int line)
                            HWY_ATTR { return hn::Mul(power, broadcast(weight[r][line])); };
    int64_t t = 0;
    for (; t + n_row <= run.n_entry; t += n_row, weight += n_row, scores += n_row * n_line * width)
        weigh_vectors<n_line, n_row * n_line>(run.first_line, factor, scores, weights);
    for (; t < run.n_entry; ++t, ++weight, scores += n_line * width)
        weigh_vectors<n_line, n_line>(run.first_line, factor, scores, weights);
    state = weights;
}

template <int n_line>
HWY_NOINLINE void weigh_band(const Run& run, float* scores, Weights& state) {
    constexpr int n_row = 4 / n_line;
    Weights weights = state;
    const Vector row_weight = broadcast(run.row_weight);
    const auto whole = [&](Vector power, int, int) HWY_ATTR { return hn::Mul(power, row_weight); };
    int64_t t = 0;
    const auto masked = [&](Vector power, int r, int line) HWY_ATTR {
        return hn::IfThenElseZero(sees(run.strip, line, t + r), hn::Mul(power, row_weight));
    };
    while (t < run.n_entry) {
        const bool is_whole = is_seen_by_all(run.strip, t, n_row);
        if (is_whole)
            weigh_vectors<n_line, n_row * n_line>(run.first_line, whole, scores, weights);
        else
            weigh_vectors<n_line, n_line>(run.first_line, masked, scores, weights);
        t += is_whole ? n_row : 1;
        scores += (is_whole ? n_row : 1) * n_line * width;
    }
    state = weights;
}

/// Scores of a run become weights, their sums are added.
HWY_INLINE void weigh_run(const Chunk& chunk, const Run& run, float* scores, Weights& weights) {
    if (run.n_line == 2)
        run.is_band ? weigh_band<2>(run, scores, weights)
                    : weigh_offsets<2>(chunk, run, scores, weights);
    else
        run.is_band ? weigh_band<1>(run, scores, weights)
                    : weigh_offsets<1>(chunk, run, scores, weights);
}

/// y(c, lane) of both rows: row l at y[l] + c * row[l]. If there is one row, both are its own and
/// the second adds nothing. Sums start at zero in the first chunk, else with what y holds; in the
/// last they are multiplied by `inverse`, one vector a row.
struct PairSums {
    float* y[2];
    int64_t row[2];
    const float* inverse[2];
};

/// sum(r, first + l) += weight(t, l) v(r, t), v the first of n_row channels.
template <bool is_band, int n_line, int first, int n_row>
HWY_INLINE const float* gather_entry(const float* v, int64_t step, const float* weights,
                                     Vector (&sum)[n_row][2]) {
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
    return weights + n_line * width;
}

/// A run for n_row channels from c on. On the way, one line of the next channels an entry is called
/// into the cache.
template <int n_line, int first, int n_row>
HWY_INLINE void gather_run(const Chunk& chunk, const Run& run, int64_t lane, int64_t c,
                           const float* weights, Vector (&sum)[n_row][2]) {
    const int64_t step = run.step, offset = c * step + lane;
    if (run.is_band) {
        const float* v = run.band + offset;
#pragma GCC unroll 4
        for (const float* const end = v + run.n_entry; v < end; ++v)
            weights = gather_entry<true, n_line, first>(v, step, weights, sum);
        return;
    }
    const float* const* entry = chunk.entries + run.first_entry;
    const float* const* const end = entry + run.n_entry;
    const int64_t* ahead = chunk.ahead + run.first_entry;
#pragma GCC unroll 2
    for (; entry < end; ++entry, ++ahead) {
        const float* v = *entry + offset;
        hwy::Prefetch(v + n_row * step + *ahead);
        weights = gather_entry<false, n_line, first>(v, step, weights, sum);
    }
}

/// y(c, lane) += sum_j weight(j, lane) v(c, j) over a chunk, for n_row channels from c on.
template <int n_row>
HWY_NOINLINE void gather_rows(const Chunk& chunk, int64_t lane, int64_t c, const float* weights,
                              const PairSums& sums) {
    Vector sum[n_row][2];
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) sum[r][0] = sum[r][1] = broadcast(0.0f);
    if (!chunk.is_first) {
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
            for (int l = 0; l < 2; ++l) sum[r][l] = load(sums.y[l] + (c + r) * sums.row[l]);
        }
    }
    for (int i = 0; i < chunk.n_run; ++i) {
        const Run& run = chunk.runs[i];
        if (run.n_line == 2)
            gather_run<2, 0>(chunk, run, lane, c, weights, sum);
        else if (run.first_line == 0)
            gather_run<1, 0>(chunk, run, lane, c, weights, sum);
        else
            gather_run<1, 1>(chunk, run, lane, c, weights, sum);
        weights += run.n_score();
    }
    if (chunk.is_last) {
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
            for (int l = 0; l < 2; ++l) sum[r][l] = hn::Mul(sum[r][l], load(sums.inverse[l]));
        }
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
