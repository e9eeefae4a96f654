// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernels/sphere/attention.hpp"

namespace surrogate::kernels::sphere {

// Backward pass of neighborhood attention in gather form: each query sums over its keys, each key
// over the queries that attend to it. With dy the gradient of y, L_i the log_sum of the forward
// pass, q as passed (which includes scale * log2(e)) and w_j the quadrature weight of the row of j:
//
//   delta_i = sum_c dy_i(c) y_i(c)                   per head: attend_delta() of kernels/attention
//   p_ij    = w_j 2^(s_ij - L_i)
//   ds_ij   = p_ij (<dy_i, v_j> - delta_i)
//   dq_i    = ln(2) sum_j ds_ij k_j
//   dk_j    = ln(2) sum_i ds_ij q_i
//   dv_j    = sum_i p_ij dy_i
//
// The order of every sum depends on the strips of its row only. Results are bitwise identical for
// any split into calls, rows together and ranks, for any first_column, and on every SIMD
// instruction set. Scores are recomputed on both sides. If inputs are not finite, results up to
// lane_count columns beyond the affected points may be NaN.
// Source: spec of the sphere, section 5 and 8.3. Global attention is kernels/attention.

/// Queries of an output phase row, as in NeighborhoodRow.
///   q, dy  (H*d, n_query), (H*e, n_query) tiles, n_query <= tile_points
///   sums   (2*H, n_query) tile: log_sum of every head, then delta of every head
///   dq     (H*d, n_query) tile, written; no overlap with others
template <class T>
struct QueryGradientRow {
    std::span<const Strip> strips;
    Tile<const T> q, dy, sums;
    Tile<T> dq;
};

/// Computes dq of the queries in the columns from first_column on of 1 to max_block_rows phase
/// rows, the same n_query in each. k, v, weight as in attend_neighbors(); k and v have layouts with
/// the same ends.
///   scratch  neighborhood_backward_scratch() elements, of this thread
template <class T>
void attend_neighbors_backward_queries(const Queue& queue, const Heads& heads,
                                       std::span<const QueryGradientRow<T>> rows,
                                       int64_t first_column, Rings<const T> k, Rings<const T> v,
                                       const T* weight, T* scratch);

/// Keys of an input phase row: key i is in column first_column + i of the call; the strips, a list
/// of transposed_neighborhood(), name the queries that attend to it.
///   weight  w of this row
///   k, v    (H*d, n_key), (H*e, n_key) tiles, n_key <= tile_points
///   dk, dv  the same shapes, written; no overlap with others. Zeros for keys without queries
template <class T>
struct KeyGradientRow {
    std::span<const Strip> strips;
    T weight;
    Tile<const T> k, v;
    Tile<T> dk, dv;
};

/// Query data that the backward pass reads: rings of the rows that the strips name, ends filled.
///   q, dy  H*d and H*e channels
///   sums   2*H channels: log_sum of every head, then delta of every head
/// All layouts have the same ends.
template <class T>
struct QueryRings {
    Rings<const T> q, dy, sums;
};

/// Computes dk and dv of the keys in the columns from first_column on of 1 to max_block_rows phase
/// rows, the same n_key in each. scratch: neighborhood_backward_scratch() elements, of this thread.
template <class T>
void attend_neighbors_backward_keys(const Queue& queue, const Heads& heads,
                                    std::span<const KeyGradientRow<T>> rows, int64_t first_column,
                                    const QueryRings<T>& of, T* scratch);

/// Returns the elements of scratch of either function.
int64_t neighborhood_backward_scratch(const Heads& heads);

/// Runs the backward pass of the normalization of heads. With r = 1 / sqrt(mean_c x_c^2 + 2^-23)
/// per head and point,
///   dx_c = r (1 + g_c) dy_c - x_c r^3 / d sum_b x_b (1 + g_b) dy_b
///   dg_c += sum over heads and points of r x_c dy_c, in double, as in the backward pass of the
///   norm
///   x, dy, dx  (H*d, n_point) tiles, any n_point; dx may be x or dy.  g, dg (d)
///   scratch    d elements, of this thread
template <class T>
void normalise_heads_backward(const Queue& queue, int64_t n_head, const T* g, Tile<const T> x,
                              Tile<const T> dy, Tile<T> dx, double* dg, T* scratch);

namespace ref {
template <class T>
void attend_neighbors_backward_queries(const Heads& heads,
                                       std::span<const QueryGradientRow<T>> rows,
                                       int64_t first_column, Rings<const T> k, Rings<const T> v,
                                       const T* weight);
template <class T>
void attend_neighbors_backward_keys(const Heads& heads, std::span<const KeyGradientRow<T>> rows,
                                    int64_t first_column, const QueryRings<T>& of);
}  // namespace ref
namespace simd {
void attend_neighbors_backward_queries(VectorLevel level, const Heads& heads,
                                       std::span<const QueryGradientRow<float>> rows,
                                       int64_t first_column, Rings<const float> k,
                                       Rings<const float> v, const float* weight, float* scratch);
void attend_neighbors_backward_keys(VectorLevel level, const Heads& heads,
                                    std::span<const KeyGradientRow<float>> rows,
                                    int64_t first_column, const QueryRings<float>& of,
                                    float* scratch);
}  // namespace simd

}  // namespace surrogate::kernels::sphere
