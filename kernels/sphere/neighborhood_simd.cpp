// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sphere/neighborhood_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/sphere/neighborhood-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {
namespace {

/// Columns that go through all steps together: their weights of a chunk stay in the first-level
/// cache while values pass.
constexpr int64_t group_columns = 32;

/// Two rows of queries of one head, or one row twice, in at most group_columns columns.
struct Pair {
    std::span<const Strip> strips[2];
    const float* q[2];
    int64_t q_row[2], n_dim;
    PairSums sums;
    int64_t n_value_dim;
    bool has_second;
};

/// Where a call computes.
struct Place {
    int64_t column, n_lane;  ///< first column, columns rounded up to vectors
    Rings<const float> k, v;
    int64_t k_channel, v_channel;
    const float* weight;
    float* packed;  ///< (c, row of the pair, lane) of one vector of columns
    float* scores;  ///< (vector of columns, entries of all strips)

    float row_weight(int64_t row) const {
        return weight[row - k.layout->first_row() * k.layout->n_phase()];
    }
};

/// Over all strips, of one vector of columns: see Extent and Weights.
struct LaneState {
    alignas(64) float maximum[2][group_columns];
    alignas(64) float sum[2][group_columns];
};

void pack_queries(const Pair& pair, int64_t lane, float* packed) {
    for (int64_t c = 0; c < pair.n_dim; ++c, packed += 2 * width) {
        for (int l = 0; l < 2; ++l)
            store(load(pair.q[l] + c * pair.q_row[l] + lane), packed + l * width);
    }
}

PairWalk walk(const Pair& pair) {
    return {pair.strips[0], pair.has_second ? pair.strips[1] : std::span<const Strip>()};
}

/// Scores of one vector of columns with all strips; their number is what the buffer holds then.
int64_t score_lanes(const Pair& pair, const Place& place, int64_t lane, float* scores,
                    LaneState& state) {
    pack_queries(pair, lane, place.packed);
    Extent extent;
    for (int l = 0; l < 2; ++l) {
        extent.maximum[l] = broadcast(no_score);
        extent.taint[l] = broadcast(0.0f);
    }
    PairWalk strips = walk(pair);
    float* at = scores;
    PairStrip strip, following;
    for (bool is_there = strips.next(strip); is_there; strip = following) {
        is_there = strips.next(following);
        int64_t column = place.column + lane;
        if (!is_there) walk(pair).next(following), column += width;
        const float* k = place.k.at(strip.row, place.k_channel) + place.column + lane + strip.first;
        const float* ahead = place.k.at(following.row, place.k_channel) + column + following.first;
        score(strip,
              {place.packed, k, place.k.layout->step(strip.row), pair.n_dim, at, ahead,
               place.k.layout->step(following.row), n_entry(following) + width - 2},
              extent);
        at += n_score(strip);
    }
    for (int l = 0; l < 2; ++l) {
        store(extent.maximum[l], state.maximum[l] + lane);
        store(extent.taint[l], state.sum[l] + lane);
    }
    return at - scores;
}

/// Scores beside a huge maximum become moderate, and so does the maximum.
void tame_lanes(const Pair& pair, int64_t lane, float* scores, LaneState& state) {
    const Vector limit = broadcast(huge_score);
    const Vector first = hn::Abs(load(state.maximum[0] + lane));
    const Vector second = hn::Abs(load(state.maximum[1] + lane));
    if (hn::AllTrue(Tag(), hn::And(hn::Lt(first, limit), hn::Lt(second, limit)))) return;
    Vector tame[2];
    for (int l = 0; l < 2; ++l) {
        const Vector maximum = tame[l] = load(state.maximum[l] + lane);
        PairWalk strips = walk(pair);
        float* at = scores;
        for (PairStrip strip; strips.next(strip); at += n_score(strip)) {
            if (strip.shared || strip.line() == l)
                tame[l] = tame_huge_scores(maximum, n_entry(strip), strip.n_line() * width,
                                           at + (strip.shared ? l * width : 0));
        }
    }
    for (int l = 0; l < 2; ++l) store(tame[l], state.maximum[l] + lane);
}

/// Strips of a chunk: enough entries to keep sums in registers for long, few enough for their weights
/// to stay in the first-level cache.
struct Chunk {
    static constexpr int64_t most_strips = 16, enough_scores = 64 * 2 * width;
    PairStrip strips[most_strips];
    int64_t n_strip = 0, n_score = 0;

    /// False at the end.
    bool read(PairWalk& walk) {
        n_strip = n_score = 0;
        while (n_strip < most_strips && n_score < enough_scores && walk.next(strips[n_strip]))
            n_score += HWY_NAMESPACE::n_score(strips[n_strip++]);
        return n_strip > 0;
    }
};

void weigh_chunk(const Chunk& chunk, const Place& place, int64_t lane, float* scores,
                 LaneState& state) {
    Weights weights;
    for (int l = 0; l < 2; ++l) {
        weights.largest[l] = load(state.maximum[l] + lane);
        weights.sum[l] = load(state.sum[l] + lane);
    }
    for (int64_t s = 0; s < chunk.n_strip; ++s) {
        const PairStrip& strip = chunk.strips[s];
        weigh(strip, place.row_weight(strip.row), scores, weights);
        scores += n_score(strip);
    }
    for (int l = 0; l < 2; ++l) store(weights.sum[l], state.sum[l] + lane);
}

/// Adds the strips of a chunk to the sums of all columns. scores: of the chunk, `step` apart from one
/// vector of columns to the next.
void gather_chunk(const Chunk& chunk, const Pair& pair, const Place& place, const float* scores,
                  int64_t step) {
    constexpr int64_t most_vectors = group_columns / width;
    ValueStrip strips[most_vectors][Chunk::most_strips];
    for (int64_t j = 0; j * width < place.n_lane; ++j) {
        for (int64_t s = 0; s < chunk.n_strip; ++s) {
            const PairStrip& strip = chunk.strips[s];
            const float* v = place.v.at(strip.row, place.v_channel);
            strips[j][s] = {v + place.column + j * width + strip.first,
                            place.v.layout->step(strip.row),
                            n_entry(strip),
                            strip.n_line(),
                            strip.line(),
                            strip.is_band()};
        }
    }
    const auto gather = [&](int64_t c, auto rows) HWY_ATTR {
        for (int64_t j = 0; j * width < place.n_lane; ++j) {
            PairSums sums = pair.sums;
            for (float*& y : sums.y) y += j * width;
            gather_rows<decltype(rows)::value>({strips[j], static_cast<size_t>(chunk.n_strip)}, c,
                                               scores + j * step, sums);
        }
    };
    int64_t c = 0;
    for (; c + 6 <= pair.n_value_dim; c += 6) gather(c, std::integral_constant<int, 6>());
    for (; c < pair.n_value_dim; ++c) gather(c, std::integral_constant<int, 1>());
}

void finish_lanes(const Pair& pair, const Place& place, const LaneState& state) {
    for (int l = 0; l < (pair.has_second ? 2 : 1); ++l) {
        for (int64_t i = 0; i < place.n_lane; i += width) {
            const Vector inverse = hn::Div(broadcast(1.0f), load(state.sum[l] + i));
            for (int64_t c = 0; c < pair.n_value_dim; ++c) {
                float* y = pair.sums.y[l] + c * pair.sums.row[l] + i;
                store(hn::Mul(load(y), inverse), y);
            }
        }
    }
}

void attend_pair(const Pair& pair, const Place& place) {
    LaneState state;
    int64_t step = 0;
    for (int64_t i = 0; i < place.n_lane; i += width) {
        float* scores = place.scores + i / width * step;
        step = score_lanes(pair, place, i, scores, state);
        tame_lanes(pair, i, scores, state);
    }
    for (int l = 0; l < 2; ++l) {
        for (int64_t c = 0; c < pair.n_value_dim; ++c)
            std::fill_n(pair.sums.y[l] + c * pair.sums.row[l], place.n_lane, 0.0f);
    }
    PairWalk strips = walk(pair);
    Chunk chunk;
    for (float* scores = place.scores; chunk.read(strips); scores += chunk.n_score) {
        for (int64_t i = 0; i < place.n_lane; i += width)
            weigh_chunk(chunk, place, i, scores + i / width * step, state);
        gather_chunk(chunk, pair, place, scores, step);
    }
    finish_lanes(pair, place, state);
}

/// Rows r and r + 1 of one head, columns from `first` of the tiles on.
Pair pair_of(const Heads& heads, int64_t h, std::span<const NeighborhoodRow<float>> rows, size_t r,
             int64_t first) {
    Pair pair;
    pair.has_second = r + 1 < rows.size();
    pair.n_dim = heads.n_key_dim;
    pair.n_value_dim = heads.n_value_dim;
    for (size_t l = 0; l < 2; ++l) {
        const auto& [strips, q, y] = rows[pair.has_second ? r + l : r];
        pair.strips[l] = strips;
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
    Place place{};
    place.k = k;
    place.v = v;
    place.weight = weight;
    place.packed = scratch;
    place.scores = scratch + 2 * lane_count * heads.n_key_dim;
    for (int64_t h = 0; h < heads.n_head; ++h) {
        place.k_channel = h * heads.n_key_dim;
        place.v_channel = h * heads.n_value_dim;
        for (int64_t i = 0; i < n_query; i += group_columns) {
            place.column = first_column + i;
            place.n_lane = std::min(group_columns, n_query - i);
            for (size_t r = 0; r < rows.size(); r += 2)
                attend_pair(pair_of(heads, h, rows, r, i), place);
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
