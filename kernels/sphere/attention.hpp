// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernels/attention/attention.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/sphere/rings.hpp"

namespace surrogate::kernels::sphere {

// Queries come multiplied by scale * log2(e): scores are in base 2, every exponential is a power of
// two. Attention:
//
//   s_ij = <q_i, k_j>
//   M_i  = max_j s_ij
//   y_i  = sum_j w_j 2^(s_ij - M_i) v_j / sum_j w_j 2^(s_ij - M_i)
//
// with w_j the quadrature weight of the row of j. No list of neighbors per point exists. Global
// attention is kernels/attention, called for row after row of keys.

/// Some queries of an output phase row: query i stands in column first_column + i of the call and
/// sees the strips, whose rows ascend.
///   q  (H*d, n_query) tile, n_query <= tile_points
///   y  (H*e, n_query) tile, no overlap with others
///   log_sum  (H, n_query) tile, no overlap with others: becomes M_i + log2 of the sum below the
///            fraction, which backward needs; null: not written. y has the same bits either way.
template <class T>
struct NeighborhoodRow {
    std::span<const Strip> strips;
    Tile<const T> q;
    Tile<T> y;
    Tile<T> log_sum = {};
};

/// Rows of one call. Neighbouring rows see nearly the same keys: taken together they read them
/// once.
constexpr size_t max_block_rows = 8;

/// Neighborhood attention of the queries in the columns from first_column on of 1 to max_block_rows
/// phase rows, the same n_query in each.
///   k, v     rings of the rows the strips name, H*d and H*e channels, ends filled
///   weight   (phase row number - number of the first phase row of k) -> w
///   scratch  neighborhood_scratch() elements, of this thread
/// The order of every sum depends on the strips of its row alone: the same bits for any split into
/// calls and rows together, for any first_column, and on every vector level. On input that is not
/// finite, results up to lane_count columns beyond those that see it may be NaN.
template <class T>
void attend_neighbors(const Queue& queue, const Heads& heads,
                      std::span<const NeighborhoodRow<T>> rows, int64_t first_column,
                      Rings<const T> k, Rings<const T> v, const T* weight, T* scratch);

/// The same for one row.
template <class T>
void attend_neighbors(const Queue& queue, const Heads& heads, Tile<const T> q, int64_t first_column,
                      std::span<const Strip> strips, Rings<const T> k, Rings<const T> v,
                      const T* weight, T* scratch, Tile<T> y) {
    const NeighborhoodRow<T> row{strips, q, y};
    attend_neighbors<T>(queue, heads, {&row, 1}, first_column, k, v, weight, scratch);
}

/// Elements of scratch that attend_neighbors needs; n_neighbor: columns of the lists of all rows of
/// a call, at most.
int64_t neighborhood_scratch(const Heads& heads, int64_t n_neighbor);

/// Added to the mean square by normalise_heads: epsilon of single precision, whatever T.
template <class T>
constexpr T head_norm_eps = T(0x1p-23);

/// q/k norm of the official layer, per head and point: u / sqrt(mean_c u_c^2 + 2^-23) * (1 + g).
///   x, y (H*d, n_point) tiles, may be the same; g (d) = "q_norm_weights" / "k_norm_weights"
template <class T>
void normalise_heads(const Queue& queue, int64_t n_head, const T* g, Tile<const T> x, Tile<T> y);

namespace ref {
template <class T>
void attend_neighbors(const Heads& heads, std::span<const NeighborhoodRow<T>> rows,
                      int64_t first_column, Rings<const T> k, Rings<const T> v, const T* weight,
                      T* scratch);
template <class T>
void normalise_heads(int64_t n_head, const T* g, Tile<const T> x, Tile<T> y);
}  // namespace ref
namespace simd {
void attend_neighbors(VectorLevel level, const Heads& heads,
                      std::span<const NeighborhoodRow<float>> rows, int64_t first_column,
                      Rings<const float> k, Rings<const float> v, const float* weight,
                      float* scratch);
void normalise_heads(VectorLevel level, int64_t n_head, const float* g, Tile<const float> x,
                     Tile<float> y);
}  // namespace simd

}  // namespace surrogate::kernels::sphere
