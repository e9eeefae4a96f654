// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sphere/attention_backward_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/sphere/attention_backward.hpp"
#include "kernels/sphere/neighborhood_averages-inl.h"
#include "kernels/sphere/neighborhood_scores-inl.h"
#include "kernels/sphere/neighborhood_slopes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {
namespace {

/// Number of scores, or of derivatives, of a chunk.
constexpr int64_t chunk_scores = Chunk::most_of_all * 2 * group_columns;

/// Two rows of one head, or one row twice, in at most group_columns columns: queries or keys, whose
/// points are in lanes.
struct PairRows {
    std::span<const Strip> strips[2];
    const float *points[2], *gradients[2];  ///< q and dy, or k and v
    int64_t point_step[2], gradient_step[2];
};

/// Data of a call. The other side of the lanes is k and v, or q and dy.
struct Place {
    int64_t column, n_lane;  ///< first column, columns rounded up to vectors
    int64_t head;
    PackedRows points, gradients;
    float *scores, *slopes;  ///< of a chunk: (vector of columns, entries)

    Place(const Heads& heads, float* scratch)
        : column(0),
          n_lane(0),
          head(0),
          points(scratch, heads.n_key_dim),
          gradients(points.end(), heads.n_value_dim),
          scores(gradients.end()),
          slopes(scores + chunk_scores) {}
};

/// Reads the next strips over rings into a chunk; `channel` is the first channel of the head.
/// Returns false at the end.
template <class WeightOf>
bool read_chunk(PairWalk& walk, const Place& place, const Rings<const float>& rings,
                int64_t channel, const WeightOf& weight_of, Chunk& chunk) {
    const auto at = [&](int64_t row) { return rings.at(row, channel) + place.column; };
    return chunk.read(walk, *rings.layout, at, weight_of);
}

/// Computes scores, and products of gradients and values, of all columns with a chunk.
void multiply_chunk(const Chunk& met, const Chunk& met_by_gradients, const Place& place) {
    ScoreGroup group{};
    group.n_lane = place.n_lane;
    group.score_step = met.n_score;
    score_chunk(met, place.points, place.scores, group);
    score_chunk(met_by_gradients, place.gradients, place.slopes, group);
}

/// Adds sums(c, lane) += sum_t weights(t, lane) x(c, t) over a chunk; after the last chunk the sums
/// are multiplied by sums.inverse, for all vectors of columns alike.
void gather_chunk(const Chunk& chunk, const Place& place, const float* weights, int64_t n_dim,
                  const PairSums& sums) {
    const auto gather = [&](int64_t c, auto rows) HWY_ATTR {
        for (int64_t lane = 0; lane < place.n_lane; lane += width) {
            PairSums at = sums;
            for (float*& y : at.y) y += lane;
            gather_rows<decltype(rows)::value>(chunk, lane, c,
                                               weights + lane / width * chunk.n_score, at);
        }
    };
    for_register_blocks(n_dim, gather);
}

/// Clears the results of rows of a pair without any neighbor.
void clear(const PairSums& sums, int64_t n_dim, int64_t n_lane) {
    for (int l = 0; l < 2; ++l) {
        for (int64_t c = 0; c < n_dim; ++c) std::fill_n(sums.y[l] + c * sums.row[l], n_lane, 0.0f);
    }
}

constexpr float ln_2 = 0.6931471806f;

/// Factor of all sums, applied at the end.
struct Factor {
    alignas(64) float of_lane[lane_count];

    explicit Factor(float factor) { std::fill_n(of_lane, lane_count, factor); }
    void set(PairSums& sums) const { sums.inverse[0] = sums.inverse[1] = of_lane; }
};

/// Calls body(l, row, is_idle) for rows r and r + 1, or r alone, of a call.
template <class Row, class Body>
void for_pair(std::span<const Row> rows, size_t r, const Body& body) {
    for (size_t l = 0; l < 2; ++l) {
        const bool is_idle = r + l >= rows.size();
        body(l, rows[is_idle ? r : r + l], is_idle);
    }
}

/// Calls body(r) for all pairs of rows in groups of columns.
template <class Row, class Body>
void for_groups(const Heads& heads, std::span<const Row> rows, int64_t n_point,
                int64_t first_column, Place& place, const Body& body) {
    const int64_t n_lane = round_up(n_point, lane_count);
    for (place.head = 0; place.head < heads.n_head; ++place.head) {
        for (int64_t i = 0; i < n_lane; i += group_columns) {
            place.column = first_column + i;
            place.n_lane = std::min(group_columns, n_lane - i);
            for (size_t r = 0; r < rows.size(); r += 2) body(r, i);
        }
    }
}

/// Returns the address of channel c and point i of a tile.
const float* from(Tile<const float> tile, int64_t c, int64_t i) {
    return tile.data + c * tile.stride[0] + i;
}

// ---- gradients of queries

struct QueryPair : PairRows {
    SumsOfLanes sums;
    PairSums dq;
};

QueryPair query_pair(const Heads& heads, std::span<const QueryGradientRow<float>> rows, size_t r,
                     int64_t first, int64_t h) {
    QueryPair pair;
    for_pair(rows, r, [&](size_t l, const QueryGradientRow<float>& row, bool is_idle) {
        const int64_t d = h * heads.n_key_dim;
        if (!is_idle) pair.strips[l] = row.strips;
        pair.points[l] = from(row.q, d, first);
        pair.point_step[l] = row.q.stride[0];
        pair.gradients[l] = from(row.dy, h * heads.n_value_dim, first);
        pair.gradient_step[l] = row.dy.stride[0];
        pair.sums.log_sum[l] = from(row.sums, h, first);
        pair.sums.delta[l] = from(row.sums, heads.n_head + h, first);
        pair.dq.y[l] = row.dq.data + d * row.dq.stride[0] + first;
        pair.dq.row[l] = row.dq.stride[0];
    });
    return pair;
}

/// Keys of the queries.
struct Keys {
    Rings<const float> k, v;
    const float* weight;
};

void slope_queries(const Chunk& chunk, const QueryPair& pair, const Place& place) {
    for (int64_t lane = 0; lane < place.n_lane; lane += width) {
        SumsOfLanes sums = pair.sums;
        for (int l = 0; l < 2; ++l) {
            sums.log_sum[l] += lane;
            sums.delta[l] += lane;
        }
        const int64_t at = lane / width * chunk.n_score;
        slope_chunk(chunk, sums, place.scores + at, place.slopes + at);
    }
}

void query_columns(const Heads& heads, QueryPair& pair, const Keys& keys, const Place& place) {
    place.points.pack(pair.points, pair.point_step, place.n_lane);
    place.gradients.pack(pair.gradients, pair.gradient_step, place.n_lane);
    const Factor of_dq(ln_2);
    of_dq.set(pair.dq);
    PairWalk k_walk(pair.strips[0], pair.strips[1]), v_walk = k_walk;
    Chunk k, v;
    const int64_t first_row = keys.k.layout->first_row() * keys.k.layout->n_phase();
    const auto weight_of = [&](int64_t row) { return keys.weight[row - first_row]; };
    const int64_t k_channel = place.head * heads.n_key_dim;
    while (read_chunk(k_walk, place, keys.k, k_channel, weight_of, k)) {
        read_chunk(v_walk, place, keys.v, place.head * heads.n_value_dim, weight_of, v);
        multiply_chunk(k, v, place);
        slope_queries(k, pair, place);
        gather_chunk(k, place, place.slopes, heads.n_key_dim, pair.dq);
    }
}

void attend_neighbors_backward_queries(const Heads& heads,
                                       std::span<const QueryGradientRow<float>> rows,
                                       int64_t first_column, Rings<const float> k,
                                       Rings<const float> v, const float* weight, float* scratch) {
    Place place(heads, scratch);
    const Keys keys{k, v, weight};
    for_groups(heads, rows, rows[0].q.shape[1], first_column, place, [&](size_t r, int64_t i) {
        QueryPair pair = query_pair(heads, rows, r, i, place.head);
        query_columns(heads, pair, keys, place);
    });
}

// ---- gradients of keys

struct KeyPair : PairRows {
    float weight[2];
    PairSums dk, dv;
};

KeyPair key_pair(const Heads& heads, std::span<const KeyGradientRow<float>> rows, size_t r,
                 int64_t first, int64_t h) {
    KeyPair pair;
    for_pair(rows, r, [&](size_t l, const KeyGradientRow<float>& row, bool is_idle) {
        const int64_t d = h * heads.n_key_dim, e = h * heads.n_value_dim;
        if (!is_idle) pair.strips[l] = row.strips;
        pair.points[l] = from(row.k, d, first);
        pair.point_step[l] = row.k.stride[0];
        pair.gradients[l] = from(row.v, e, first);
        pair.gradient_step[l] = row.v.stride[0];
        pair.weight[l] = row.weight;
        pair.dk.y[l] = row.dk.data + d * row.dk.stride[0] + first;
        pair.dk.row[l] = row.dk.stride[0];
        pair.dv.y[l] = row.dv.data + e * row.dv.stride[0] + first;
        pair.dv.row[l] = row.dv.stride[0];
    });
    return pair;
}

void slope_keys(const Chunk& sums, int64_t delta_rows, const KeyPair& pair, const Place& place) {
    for (int64_t lane = 0; lane < place.n_lane; lane += width) {
        const int64_t at = lane / width * sums.n_score;
        slope_chunk(sums, SumsOfEntries{&sums, lane, delta_rows, pair.weight}, place.scores + at,
                    place.slopes + at);
    }
}

void key_columns(const Heads& heads, KeyPair& pair, const QueryRings<float>& of,
                 const Place& place) {
    if (pair.strips[0].empty() && pair.strips[1].empty()) {
        clear(pair.dk, heads.n_key_dim, place.n_lane);
        clear(pair.dv, heads.n_value_dim, place.n_lane);
        return;
    }
    place.points.pack(pair.points, pair.point_step, place.n_lane);
    place.gradients.pack(pair.gradients, pair.gradient_step, place.n_lane);
    const Factor of_dk(ln_2), of_dv(1);
    of_dk.set(pair.dk);
    of_dv.set(pair.dv);
    PairWalk q_walk(pair.strips[0], pair.strips[1]), dy_walk = q_walk, sums_walk = q_walk;
    Chunk q, dy, sums;
    const auto one = [](int64_t) { return 1.0f; };
    const int64_t h = place.head;
    while (read_chunk(q_walk, place, of.q, h * heads.n_key_dim, one, q)) {
        read_chunk(dy_walk, place, of.dy, h * heads.n_value_dim, one, dy);
        read_chunk(sums_walk, place, of.sums, h, one, sums);
        multiply_chunk(q, dy, place);
        slope_keys(sums, heads.n_head, pair, place);
        gather_chunk(q, place, place.slopes, heads.n_key_dim, pair.dk);
        gather_chunk(dy, place, place.scores, heads.n_value_dim, pair.dv);
    }
}

void attend_neighbors_backward_keys(const Heads& heads, std::span<const KeyGradientRow<float>> rows,
                                    int64_t first_column, const QueryRings<float>& of,
                                    float* scratch) {
    Place place(heads, scratch);
    for_groups(heads, rows, rows[0].k.shape[1], first_column, place, [&](size_t r, int64_t i) {
        KeyPair pair = key_pair(heads, rows, r, i, place.head);
        key_columns(heads, pair, of, place);
    });
}

/// Returns the elements of scratch, equal on every instruction set.
int64_t backward_scratch(const Heads& heads) {
    return PackedRows::size(heads.n_key_dim) + PackedRows::size(heads.n_value_dim) +
           2 * chunk_scores;
}

}  // namespace
}  // namespace surrogate::kernels::sphere::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::sphere {

int64_t neighborhood_backward_scratch(const Heads& heads) {
    return N_SCALAR::backward_scratch(heads);
}

namespace simd {

void attend_neighbors_backward_queries(VectorLevel level, const Heads& heads,
                                       std::span<const QueryGradientRow<float>> rows,
                                       int64_t first_column, Rings<const float> k,
                                       Rings<const float> v, const float* weight, float* scratch) {
    SURROGATE_AT_LEVEL(level, attend_neighbors_backward_queries)
    (heads, rows, first_column, k, v, weight, scratch);
}

void attend_neighbors_backward_keys(VectorLevel level, const Heads& heads,
                                    std::span<const KeyGradientRow<float>> rows,
                                    int64_t first_column, const QueryRings<float>& of,
                                    float* scratch) {
    SURROGATE_AT_LEVEL(level, attend_neighbors_backward_keys)
    (heads, rows, first_column, of, scratch);
}

}  // namespace simd
}  // namespace surrogate::kernels::sphere
#endif
