// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernels/attention/attention.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/sphere/rings.hpp"

namespace surrogate::kernels::sphere {

// Neighborhood attention. Queries are multiplied by scale * log2(e) in advance: scores are in base
// 2, and every exponential is a power of two:
//
//   s_ij = <q_i, k_j>
//   M_i  = max_j s_ij
//   y_i  = sum_j w_j 2^(s_ij - M_i) v_j / sum_j w_j 2^(s_ij - M_i)
//
// with w_j the quadrature weight of the row of j. No list of neighbors per point is stored. Global
// attention is kernels/attention, called for one row of keys after the other.

/// Some queries of an output phase row: query i is in column first_column + i of the call and
/// attends to the strips, whose rows ascend.
///   q  (H*d, n_query) tile, n_query <= tile_points
///   y  (H*e, n_query) tile, no overlap with others
///   log_sum  (H, n_query) tile, no overlap with others: becomes M_i + log2 of the sum below the
///            fraction, which the backward pass needs; null: not written. y is bitwise identical in
///            both cases.
template <class T>
struct NeighborhoodRow {
    std::span<const Strip> strips;
    Tile<const T> q;
    Tile<T> y;
    Tile<T> log_sum = {};
};

/// Largest number of rows per call. Neighboring rows have nearly the same keys: processed together,
/// they read them once.
constexpr size_t max_block_rows = 8;

/// Computes neighborhood attention of the queries in the columns from first_column on of 1 to
/// max_block_rows phase rows, the same n_query in each.
///   k, v     rings of the rows that the strips name, H*d and H*e channels, ends filled
///   weight   (phase row number - number of the first phase row of k) -> w
///   scratch  neighborhood_scratch() elements, of this thread
/// The order of every sum depends on the strips of its row only. Results are bitwise identical for
/// any split into calls and rows together, for any first_column, and on every SIMD instruction set.
/// If inputs are not finite, results up to lane_count columns beyond the affected queries may be
/// NaN.
template <class T>
void attend_neighbors(const Queue& queue, const Heads& heads,
                      std::span<const NeighborhoodRow<T>> rows, int64_t first_column,
                      Rings<const T> k, Rings<const T> v, const T* weight, T* scratch);

/// Computes neighborhood attention of one row.
template <class T>
void attend_neighbors(const Queue& queue, const Heads& heads, Tile<const T> q, int64_t first_column,
                      std::span<const Strip> strips, Rings<const T> k, Rings<const T> v,
                      const T* weight, T* scratch, Tile<T> y) {
    const NeighborhoodRow<T> row{strips, q, y};
    attend_neighbors<T>(queue, heads, {&row, 1}, first_column, k, v, weight, scratch);
}

/// Returns the elements of scratch of attend_neighbors(); n_neighbor: upper bound of the columns of
/// the lists of all rows of a call.
int64_t neighborhood_scratch(const Heads& heads, int64_t n_neighbor);

/// Epsilon that the normalization of heads adds to the mean square: epsilon of single precision,
/// for every T.
template <class T>
constexpr T head_norm_eps = T(0x1p-23);

/// Normalizes q or k per head and point as the official layer does: u / sqrt(mean_c u_c^2 + 2^-23)
/// * (1 + g).
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
