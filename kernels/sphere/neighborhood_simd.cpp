// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sphere/neighborhood_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/sphere/attention.hpp"
#include "kernels/sphere/neighborhood_averages-inl.h"
#include "kernels/sphere/neighborhood_scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {
namespace {

/// State of each column: see Extent and Weights.
struct LaneState {
    alignas(64) float maximum[2][group_columns];
    alignas(64) float sum[2][group_columns];
};

/// Two rows of queries of one head, or one row twice, in at most group_columns columns.
struct Pair {
    std::span<const Strip> strips[2];
    const float* q[2];
    int64_t q_row[2], n_dim;
    PairSums sums;
    int64_t n_value_dim;
    float* log_sum[2];  ///< null: not computed
    float* scores;      ///< (vector of columns, entries of all strips)
    int64_t n_score;    ///< of one vector of columns
    LaneState state;
};

/// Columns and scratch memory of a call.
struct Place {
    int64_t column, n_lane;  ///< first column, columns rounded up to vectors
    Rings<const float> k, v;
    int64_t k_channel, v_channel;
    const float* weight;
    PackedRows packed;

    float row_weight(int64_t row) const {
        return weight[row - k.layout->first_row() * k.layout->n_phase()];
    }
};

bool read_chunk(PairWalk& walk, const Place& place, const Rings<const float>& rings,
                int64_t channel, Chunk& chunk) {
    const auto at = [&](int64_t row) { return rings.at(row, channel) + place.column; };
    const auto weight_of = [&](int64_t row) { return place.row_weight(row); };
    return chunk.read(walk, *rings.layout, at, weight_of);
}

/// Computes the scores of all columns with all strips.
void score_pair(Pair& pair, const Place& place) {
    PairWalk walk(pair.strips[0], pair.strips[1]);
    Chunk chunk;
    ScoreGroup group{};
    group.score_step = pair.n_score;
    group.n_lane = place.n_lane;
    for (int l = 0; l < 2; ++l) {
        group.maximum[l] = pair.state.maximum[l];
        group.taint[l] = pair.state.sum[l];
    }
    float* scores = pair.scores;
    while (read_chunk(walk, place, place.k, place.k_channel, chunk)) {
        score_chunk(chunk, place.packed, scores, group);
        scores += chunk.n_score;
    }
}

/// Returns the number of scores of one vector of columns.
int64_t count_scores(const Pair& pair) {
    int64_t n = 0;
    for (PairWalk walk(pair.strips[0], pair.strips[1]); !walk.is_at_end(); walk.step()) {
        const PairStrip strip = walk.peek();
        n += (strip.count + (strip.is_band() ? width - 1 : 0)) * strip.n_line() * width;
    }
    return n;
}

/// Reduces scores beside a huge maximum, and the maximum, to moderate sizes.
void tame_lanes(const Pair& pair, const Place& place, int64_t lane, float* scores,
                LaneState& state) {
    const Vector limit = broadcast(huge_score);
    const Vector first = hn::Abs(load(state.maximum[0] + lane));
    const Vector second = hn::Abs(load(state.maximum[1] + lane));
    if (hn::AllTrue(Tag(), hn::And(hn::Lt(first, limit), hn::Lt(second, limit)))) return;
    PairWalk walk(pair.strips[0], pair.strips[1]);
    Chunk chunk;
    Vector tame[2] = {load(state.maximum[0] + lane), load(state.maximum[1] + lane)};
    while (read_chunk(walk, place, place.k, place.k_channel, chunk)) {
        for (int r = 0; r < chunk.n_run; ++r) {
            const Run& run = chunk.runs[r];
            for (int l = 0; l < run.n_line; ++l) {
                const int line = run.first_line + l;
                tame[line] = tame_huge_scores(load(state.maximum[line] + lane), run.n_entry,
                                              run.n_line * width, scores + l * width);
            }
            scores += run.n_score();
        }
    }
    for (int l = 0; l < 2; ++l) store(tame[l], state.maximum[l] + lane);
}

/// Replaces the scores of a chunk by weights. After the last chunk `sum` holds the inverse, and
/// log_sum, which held the maximum, is complete.
void weigh_chunk(const Chunk& chunk, int64_t lane, float* scores, float* const (&log_sum)[2],
                 LaneState& state) {
    float* const maximum[2] = {state.maximum[0] + lane, state.maximum[1] + lane};
    float* const sum[2] = {state.sum[0] + lane, state.sum[1] + lane};
    for (int r = 0; r < chunk.n_run; ++r) {
        weigh_run(chunk, chunk.runs[r], scores, maximum, sum);
        scores += chunk.runs[r].n_score();
    }
    if (!chunk.is_last) return;
    for (int l = 0; l < 2; ++l) {
        if (!log_sum[l]) continue;
        float* const to = log_sum[l] + lane;
        const Vector all = load(sum[l]), taint = hn::Mul(all, broadcast(0.0f));  // a NaN stays
        store(hn::Add(hn::Add(load(to), log_two(all)), taint), to);
    }
    for (float* place : sum) store(hn::Div(broadcast(1.0f), load(place)), place);
}

/// Adds a chunk to the sums of all columns. scores: of the chunk, with stride `step` between
/// vectors of columns.
void gather_chunk(const Chunk& chunk, const Pair& pair, const Place& place, const LaneState& state,
                  const float* scores, int64_t step) {
    const auto gather = [&](int64_t c, auto rows) HWY_ATTR {
        for (int64_t lane = 0; lane < place.n_lane; lane += width) {
            if (lane % lane_count == 0) {  // prefetches the next queries
                for (int l = 0; l < 2; ++l) {
                    for (int r = 0; r < decltype(rows)::value && c + r < pair.n_dim; ++r)
                        hwy::Prefetch(pair.q[l] + (c + r) * pair.q_row[l] + lane + group_columns);
                }
            }
            PairSums sums = pair.sums;
            for (int l = 0; l < 2; ++l) {
                sums.y[l] += lane;
                sums.inverse[l] = state.sum[l] + lane;
            }
            gather_rows<decltype(rows)::value>(chunk, lane, c, scores + lane / width * step, sums);
        }
    };
    for_register_blocks(pair.n_value_dim, gather);
}

void score_columns(Pair& pair, const Place& place) {
    for (int l = 0; l < 2; ++l) {
        std::fill_n(pair.state.maximum[l], group_columns, no_score);
        const bool is_idle = pair.strips[l].empty();  // its sum is also a divisor
        std::fill_n(pair.state.sum[l], group_columns, is_idle ? 1.0f : 0.0f);
    }
    place.packed.pack(pair.q, pair.q_row, place.n_lane);
    score_pair(pair, place);
    for (int l = 0; l < 2; ++l) {
        if (pair.log_sum[l]) std::copy_n(pair.state.maximum[l], place.n_lane, pair.log_sum[l]);
    }
    for (int64_t i = 0; i < place.n_lane; i += width)
        tame_lanes(pair, place, i, pair.scores + i / width * pair.n_score, pair.state);
}

void average_columns(Pair& pair, const Place& place) {
    PairWalk walk(pair.strips[0], pair.strips[1]);
    Chunk chunk;
    float* scores = pair.scores;
    while (read_chunk(walk, place, place.v, place.v_channel, chunk)) {
        for (int64_t i = 0; i < place.n_lane; i += width)
            weigh_chunk(chunk, i, scores + i / width * pair.n_score, pair.log_sum, pair.state);
        gather_chunk(chunk, pair, place, pair.state, scores, pair.n_score);
        scores += chunk.n_score;
    }
}

/// Returns rows r and r + 1 of one head, columns from `first` of the tiles on.
Pair pair_of(const Heads& heads, int64_t h, std::span<const NeighborhoodRow<float>> rows, size_t r,
             int64_t first) {
    Pair pair;
    const bool has_second = r + 1 < rows.size();
    pair.n_dim = heads.n_key_dim;
    pair.n_value_dim = heads.n_value_dim;
    for (size_t l = 0; l < 2; ++l) {
        const auto& [strips, q, y, log_sum] = rows[has_second ? r + l : r];
        const bool is_idle = l == 1 && !has_second;
        if (!is_idle) pair.strips[l] = strips;
        pair.log_sum[l] = log_sum.data && !is_idle ? &log_sum(h, first) : nullptr;
        pair.q[l] = q.data + h * heads.n_key_dim * q.stride[0] + first;
        pair.q_row[l] = q.stride[0];
        pair.sums.y[l] = y.data + h * heads.n_value_dim * y.stride[0] + first;
        pair.sums.row[l] = y.stride[0];
    }
    return pair;
}

void attend_neighbors(const Heads& heads, std::span<const NeighborhoodRow<float>> rows,
                      int64_t first_column, Rings<const float> k, Rings<const float> v,
                      const float* weight, float* scratch) {
    const int64_t n_query = round_up(rows[0].q.shape[1], lane_count);
    Place place{0, 0, k, v, 0, 0, weight, {scratch, heads.n_key_dim}};
    for (int64_t h = 0; h < heads.n_head; ++h) {
        place.k_channel = h * heads.n_key_dim;
        place.v_channel = h * heads.n_value_dim;
        for (int64_t i = 0; i < n_query; i += group_columns) {
            place.column = first_column + i;
            place.n_lane = std::min(group_columns, n_query - i);
            float* scores = place.packed.end();
            Pair pairs[max_block_rows / 2];
            size_t n_pair = 0;
            for (size_t r = 0; r < rows.size(); r += 2) {
                Pair& pair = pairs[n_pair++] = pair_of(heads, h, rows, r, i);
                pair.scores = scores;
                pair.n_score = count_scores(pair);
                scores += place.n_lane / width * pair.n_score;
            }
            // All pairs read the same keys, then all read the same values: each is loaded from main
            // memory once.
            for (size_t p = 0; p < n_pair; ++p) score_columns(pairs[p], place);
            for (size_t p = 0; p < n_pair; ++p) average_columns(pairs[p], place);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sphere::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::sphere::simd {

void attend_neighbors(VectorLevel level, const Heads& heads,
                      std::span<const NeighborhoodRow<float>> rows, int64_t first_column,
                      Rings<const float> k, Rings<const float> v, const float* weight,
                      float* scratch) {
    SURROGATE_AT_LEVEL(level, attend_neighbors)
    (heads, rows, first_column, k, v, weight, scratch);
}

}  // namespace surrogate::kernels::sphere::simd
#endif
