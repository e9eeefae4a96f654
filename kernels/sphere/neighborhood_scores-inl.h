// SPDX-License-Identifier: Apache-2.0
// Neighborhood attention of a pair of query rows: scores of a group of columns over a chunk of
// strips. This file is compiled once per SIMD instruction set; see sphere.md.
#if defined(SURROGATE_NEIGHBORHOOD_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_NEIGHBORHOOD_SCORES_INL_H_
#undef SURROGATE_NEIGHBORHOOD_SCORES_INL_H_
#else
#define SURROGATE_NEIGHBORHOOD_SCORES_INL_H_
#endif

#include <hwy/cache_control.h>

#include "kernels/attention/softmax-inl.h"
#include "kernels/base/block_size.hpp"
#include "kernels/sphere/neighborhood_chunk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {

/// Extent of the scores of n_line rows: the largest scores so far, and 0, or NaN if a score is NaN.
/// The exponential alone would not propagate every NaN (flare.md).
template <int n_line>
struct Extent {
    Vector maximum[n_line], taint[n_line];

    HWY_INLINE void add(Vector score, int l) {
        maximum[l] = at_least(score, maximum[l]);  // a NaN score is not a maximum
        taint[l] = hn::Or(taint[l], hn::IfThenElse(hn::IsNaN(score), score, broadcast(0.0f)));
    }
};

/// Input and output of a block of scores, for some channels. Queries are packed (c, row of the
/// pair, lane); `ahead` is the memory that the next block will read, which is prefetched.
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

/// Computes S of n_line rows with n_key entries.
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

/// 12 sums and their operands fill the 16 registers of AVX2; fewer than 8 sums wait for each other.
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

/// Columns that go through all steps together: their weights of a chunk stay in the first-level
/// cache while values are read.
constexpr int64_t group_columns = 32;

/// Channels that scores process at once: the channels of keys and queries of a group stay in the
/// first-level cache.
constexpr int64_t score_dims = 64;

/// Two rows of points in lanes, (vector of columns, c, row of the pair, lane).
struct PackedRows {
    float* data;
    int64_t step;  ///< of vectors of columns
    int64_t n_dim;

    PackedRows(float* memory, int64_t n_channel)
        : data(memory), step(2 * width * n_channel + lane_count), n_dim(n_channel) {}
    /// Returns the elements of memory for a group, on every instruction set.
    static constexpr int64_t size(int64_t n_channel) {
        return group_columns * (2 * n_channel + lane_count);
    }
    float* end() const { return data + group_columns / width * step; }

    void pack(const float* const (&rows)[2], const int64_t (&row_step)[2], int64_t n_lane) const {
        for (int64_t c = 0; c < n_dim; ++c) {
            for (int l = 0; l < 2; ++l) {
                const float* from = rows[l] + c * row_step[l];
                float* to = data + (2 * c + l) * width;
                for (int64_t i = 0; i < n_lane; i += width, to += step) store(load(from + i), to);
            }
        }
    }
};

/// Input and output of the scores of a group of columns, for some channels. Vector j of columns has
/// its queries at packed + j * packed_step, its scores at scores + j * score_step.
struct ScoreGroup {
    const float* packed;
    int64_t packed_step;
    float* scores;
    int64_t score_step, n_lane;
    int64_t first_dim, n_dim;
    bool is_first, is_last;        ///< channels
    float *maximum[2], *taint[2];  ///< null: the extent is not updated

    template <int n_line>
    HWY_INLINE Extent<n_line> extent(int first_line, int64_t lane) const {
        Extent<n_line> extent;
        for (int l = 0; l < n_line; ++l) {
            extent.maximum[l] = load(maximum[first_line + l] + lane);
            extent.taint[l] = load(taint[first_line + l] + lane);
        }
        return extent;
    }
    template <int n_line>
    HWY_INLINE void set_extent(int first_line, int64_t lane, const Extent<n_line>& extent) const {
        for (int l = 0; l < n_line; ++l) {
            store(extent.maximum[l], maximum[first_line + l] + lane);
            store(extent.taint[l], taint[first_line + l] + lane);
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

/// Updates the extent with the finished scores of entries [first, first + n). Scores of entries
/// that a row does not attend to may be far above its maximum, and are removed.
template <int n_line>
HWY_INLINE void extend_offsets(const Chunk& chunk, int first_line, int64_t first, int64_t n,
                               float* scores, Extent<n_line>& extent) {
    for (int64_t t = first; t < first + n; ++t) {
#pragma GCC unroll 2
        for (int l = 0; l < n_line; ++l, scores += width) {
            if (chunk.is_seen[t][first_line + l])
                extent.add(load(scores), l);
            else
                store(broadcast(no_score), scores);
        }
    }
}
template <int n_line>
HWY_INLINE void extend_band(const Run& run, int64_t first, int64_t n, float* scores,
                            Extent<n_line>& extent) {
    const bool is_seen = is_seen_by_all(run.strip, first, n);
    for (int64_t t = first; t < first + n; ++t) {
#pragma GCC unroll 2
        for (int l = 0; l < n_line; ++l, scores += width) {
            Vector score = load(scores);
            if (!is_seen) {
                score = hn::IfThenElse(sees(run.strip, run.first_line + l, t), score,
                                       broadcast(no_score));
                store(score, scores);
            }
            extent.add(score, l);
        }
    }
}

/// Computes scores with blocks of entries as the outer loop: their keys stay in the first-level
/// cache while the inner loop runs over the vectors of columns.
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
            if (!group.is_last || !group.maximum[0]) continue;
            auto extent = group.template extent<n_line>(run.first_line, lane);
            extend_offsets(chunk, run.first_line, e, n, block.scores, extent);
            group.set_extent(run.first_line, lane, extent);
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
            if (!group.is_last || !group.maximum[0]) continue;
            auto extent = group.template extent<n_line>(run.first_line, lane);
            extend_band(run, t, n, block.scores, extent);
            group.set_extent(run.first_line, lane, extent);
        }
        at += n * n_line * width;
    }
}

/// Computes the scores of a run, for the rows that attend to it.
HWY_INLINE void score_run(const Chunk& chunk, const Run& run, const ScoreGroup& group) {
    if (run.n_line == 2)
        run.is_band ? score_band<2>(run, group) : score_offsets<2>(chunk, run, group);
    else
        run.is_band ? score_band<1>(run, group) : score_offsets<1>(chunk, run, group);
}

/// Computes the scores of a chunk with rows in lanes. scores: of the chunk, with stride
/// group.score_step between vectors of columns; n_lane, score_step, maximum and taint of the group
/// are set.
HWY_INLINE void score_chunk(const Chunk& chunk, const PackedRows& rows, float* scores,
                            ScoreGroup group) {
    group.packed_step = rows.step;
    for (int64_t first = 0; first < rows.n_dim; first += group.n_dim) {
        group.packed = rows.data + 2 * width * first;
        group.first_dim = first;
        group.n_dim = block_size(rows.n_dim - first, score_dims);
        group.is_first = first == 0;
        group.is_last = first + group.n_dim == rows.n_dim;
        group.scores = scores;
        for (int r = 0; r < chunk.n_run; ++r) {
            score_run(chunk, chunk.runs[r], group);
            group.scores += chunk.runs[r].n_score();
        }
    }
}

}  // namespace surrogate::kernels::sphere::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
