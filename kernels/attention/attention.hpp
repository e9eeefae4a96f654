// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"

/// Softmax attention of a tile of queries to keys that are passed in any number of calls. Used by
/// all families. Queries are multiplied by scale * log2(e) in advance: scores are in base 2, and
/// every exponential is a power of two.
///
///   s_ij = <q_i, k_j> + factor_h distance_ij
///   M_i  = max_j s_ij
///   y_i  = sum_j w_j 2^(s_ij - M_i) v_j / sum_j w_j 2^(s_ij - M_i)
///
/// Source: online softmax, arXiv:1805.02867.
namespace surrogate::kernels {

/// Sizes of the heads. Head h owns channels h*d .. (h+1)*d - 1 of queries and keys, and channels
/// h*e .. (h+1)*e - 1 of values.
struct Heads {
    int64_t n_head = 1;
    int64_t n_key_dim = 0;    ///< d
    int64_t n_value_dim = 0;  ///< e

    int64_t n_key_channel() const { return n_head * n_key_dim; }
    int64_t n_value_channel() const { return n_head * n_value_dim; }
};

/// Bias of the scores: factor(h) * distance(j, i) is added, in base 2 like the scores. Without a
/// factor, nothing is added.
template <class T>
struct DistanceBias {
    const T* factor = nullptr;  ///< (H)
    Tile<const T> distance;     ///< (n_key, n_query): one row per key, lanes along queries
    /// Backward pass: += sum_h factor(h) ds, in the layout of `distance`, so that the gradient of
    /// the distances is ln(2) slope; whole vectors of lanes are written. Data null: not computed.
    Tile<T> slope = {};
};

/// Running softmax of a tile of at most tile_points queries. Uses one block of memory of `size`
/// elements (H, e + 2, tile_points), which holds the largest score M of each query, sum_j w_j
/// 2^(s_j - M), and the same sum with each value channel.
template <class T>
struct SoftmaxState {
    Heads heads;
    T* data = nullptr;

    static int64_t size(const Heads& heads) {
        return heads.n_head * (heads.n_value_dim + 2) * tile_points;
    }
    T* maximum(int64_t head) const { return data + head * (heads.n_value_dim + 2) * tile_points; }
    T* sum(int64_t head) const { return maximum(head) + tile_points; }
    T* value(int64_t head) const { return maximum(head) + 2 * tile_points; }  // (e, tile_points)
};

template <class T>
void reset(SoftmaxState<T> state);

/// Adds keys of one weight w (any w >= 0; 0 adds nothing).
///   q (H*d, n_query), k (H*d, n_key), v (H*e, n_key) tiles, n_query <= tile_points, any n_key
///   scratch  attend_scratch() elements, of this thread
/// The split of keys into calls fixes the order of the sums. Results are bitwise identical on every
/// SIMD instruction set.
template <class T>
void attend(const Queue& queue, const Heads& heads, Tile<const T> q, Tile<const T> k,
            Tile<const T> v, T w, const DistanceBias<T>& bias, T* scratch, SoftmaxState<T> state);

int64_t attend_scratch(const Heads& heads);

/// Writes the finished averages to y (H*e, n_query); queries without any key get zeros.
template <class T>
void finish(const Queue& queue, SoftmaxState<T> state, Tile<T> y);

/// Writes log_sum (H, n_query) = M + log2(sum), which the backward pass needs per row of the
/// softmax.
template <class T>
void log_sums(const Queue& queue, SoftmaxState<T> state, Tile<T> log_sum);

// ---- Backward pass. With p_ij = w_j 2^(s_ij - log_sum_i), dy the gradient of y and
//
//   delta_i = sum_c dy_i(c) y_i(c)                                   per head
//   ds_ij   = p_ij (<dy_i, v_j> - delta_i)
//   dq_i   += ln(2) sum_j ds_ij k_j        (of q as passed, which includes scale * log2(e))
//   dk_j   += ln(2) sum_i ds_ij q_i
//   dv_j   += sum_i p_ij dy_i
//   dfactor_h += ln(2) sum_ij ds_ij distance_ij
//
// Scores are recomputed, once for the queries and once for the keys. Lanes run along the items
// whose gradients are computed, and no sum crosses lanes. As in attend(), the split of keys (or
// queries) into calls fixes the order of the sums.

/// Computes delta (H, n_query) from y and dy (H*e, n_query).
template <class T>
void attend_delta(const Queue& queue, const Heads& heads, Tile<const T> y, Tile<const T> dy,
                  Tile<T> delta);

/// A tile of queries as the backward pass reads it.
template <class T>
struct AttendGradient {
    Tile<const T> q;               ///< (H*d, n_query)
    Tile<const T> dy;              ///< (H*e, n_query)
    Tile<const T> log_sum, delta;  ///< (H, n_query)
    T key_weight = 1;              ///< w of all keys of the call; 0 adds nothing
};

/// Adds to dq (H*d, n_query), and to dfactor (H) unless it is null. scratch: attend_scratch()
/// elements.
template <class T>
void attend_backward_queries(const Queue& queue, const Heads& heads, const AttendGradient<T>& of,
                             Tile<const T> k, Tile<const T> v, const DistanceBias<T>& bias,
                             T* scratch, Tile<T> dq, double* dfactor);

/// Adds to dk (H*d, n_key) and dv (H*e, n_key); n_key <= tile_points. With a bias, bias.distance is
/// (n_query, n_key), one row per query. scratch: attend_scratch() elements.
template <class T>
void attend_backward_keys(const Queue& queue, const Heads& heads, const AttendGradient<T>& of,
                          Tile<const T> k, Tile<const T> v, const DistanceBias<T>& bias, T* scratch,
                          Tile<T> dk, Tile<T> dv);

namespace ref {
template <class T>
void attend(const Heads& heads, Tile<const T> q, Tile<const T> k, Tile<const T> v, T w,
            const DistanceBias<T>& bias, SoftmaxState<T> state);
template <class T>
void log_sums(SoftmaxState<T> state, Tile<T> log_sum);
template <class T>
void attend_delta(const Heads& heads, Tile<const T> y, Tile<const T> dy, Tile<T> delta);
template <class T>
void attend_backward_queries(const Heads& heads, const AttendGradient<T>& of, Tile<const T> k,
                             Tile<const T> v, const DistanceBias<T>& bias, Tile<T> dq,
                             double* dfactor);
template <class T>
void attend_backward_keys(const Heads& heads, const AttendGradient<T>& of, Tile<const T> k,
                          Tile<const T> v, const DistanceBias<T>& bias, Tile<T> dk, Tile<T> dv);
}  // namespace ref
namespace simd {
void attend(VectorLevel level, const Heads& heads, Tile<const float> q, Tile<const float> k,
            Tile<const float> v, float w, const DistanceBias<float>& bias, float* scratch,
            SoftmaxState<float> state);
void log_sums(VectorLevel level, SoftmaxState<float> state, Tile<float> log_sum);
void attend_delta(VectorLevel level, const Heads& heads, Tile<const float> y, Tile<const float> dy,
                  Tile<float> delta);
void attend_backward_queries(VectorLevel level, const Heads& heads, const AttendGradient<float>& of,
                             Tile<const float> k, Tile<const float> v,
                             const DistanceBias<float>& bias, float* scratch, Tile<float> dq,
                             double* dfactor);
void attend_backward_keys(VectorLevel level, const Heads& heads, const AttendGradient<float>& of,
                          Tile<const float> k, Tile<const float> v, const DistanceBias<float>& bias,
                          float* scratch, Tile<float> dk, Tile<float> dv);
}  // namespace simd

}  // namespace surrogate::kernels
