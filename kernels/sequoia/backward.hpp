// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sequoia/sequoia.hpp"

/// Gradients of attention on a tree. Forward need save nothing but q, k and the values that it
/// read: scores and their statistics are computed again. With p the weights of one softmax, g_i the
/// gradient of its result, and queries as they came (log2(e) / sqrt(d) in them):
///
///   delta_i = sum_j p_ij <g_i, v_j>
///   ds_ij   = ln(2) p_ij (<g_i, v_j> - delta_i)
///   dq_i += sum_j ds_ij k_j,   dk_j += sum_i ds_ij q_i,   dv_j += sum_i p_ij g_i
///
/// Sums over siblings run in their order; bits and untouched columns as in sequoia.hpp.
namespace surrogate::kernels::sequoia {

/// g = dy / 3, then dy = 0: the gradient of each of the three averages of attend_tree(), taken out
/// of the gradient dy of its result, which later collects what others owe to the same memory.
///   dy, g (H*e, n_node) tiles
template <class T>
void take_thirds(const Queue& queue, Tile<T> dy, Tile<T> g);

/// Destination of the gradients of another node, as Node.
template <class T>
struct NodeGradient {
    T* k = nullptr;
    T* v = nullptr;
    int64_t row = 0;
};

/// Backward pass of attend_tree(), for ancestors and siblings; the gradient of `children` is g
/// itself.
///   q, k, v, around  as forward read them (v before it was overwritten)
///   g         (H*e, n_node) tile, from take_thirds()
///   ancestors (n_group, n_ancestor): where each group's share of the gradients of its ancestors'
///   keys
///             and values is added. Groups come in ascending order; the share of lane_count
///             siblings is summed up first, then added. Threads whose groups have an ancestor in
///             common need memory of their own for it, which the caller joins. Parents are never
///             shared: their place may be the final one.
///   dq, dk (H*d, n_node), dv (H*e, n_node) tiles, added to; they overlap nothing
template <class T>
void attend_tree_backward(const Queue& queue, const Heads& heads, Tile<const T> q, Tile<const T> k,
                          Tile<const T> v, const Surroundings<T>& around, Tile<const T> g,
                          std::span<const NodeGradient<T>> ancestors, T* scratch, Tile<T> dq,
                          Tile<T> dk, Tile<T> dv);

/// Backward pass of attend_children(). q, k, v as forward read them; g (H*e, n_parent) tile: the
/// gradient of its result
///   dq (H*d, n_parent), dk (H*d, n_child), dv (H*e, n_child) tiles, added to
template <class T>
void attend_children_backward(const Queue& queue, const Heads& heads, int64_t k_branch,
                              int64_t n_last, Tile<const T> q, Tile<const T> k, Tile<const T> v,
                              Tile<const T> g, T* scratch, Tile<T> dq, Tile<T> dk, Tile<T> dv);

namespace ref {
template <class T>
void attend_tree_backward(const Heads& heads, Tile<const T> q, Tile<const T> k, Tile<const T> v,
                          const Surroundings<T>& around, Tile<const T> g,
                          std::span<const NodeGradient<T>> ancestors, T* scratch, Tile<T> dq,
                          Tile<T> dk, Tile<T> dv);
template <class T>
void attend_children_backward(const Heads& heads, int64_t k_branch, int64_t n_last, Tile<const T> q,
                              Tile<const T> k, Tile<const T> v, Tile<const T> g, T* scratch,
                              Tile<T> dq, Tile<T> dk, Tile<T> dv);
}  // namespace ref
namespace simd {
void attend_tree_backward(VectorLevel level, const Heads& heads, Tile<const float> q,
                          Tile<const float> k, Tile<const float> v,
                          const Surroundings<float>& around, Tile<const float> g,
                          std::span<const NodeGradient<float>> ancestors, float* scratch,
                          Tile<float> dq, Tile<float> dk, Tile<float> dv);
void attend_children_backward(VectorLevel level, const Heads& heads, int64_t k_branch,
                              int64_t n_last, Tile<const float> q, Tile<const float> k,
                              Tile<const float> v, Tile<const float> g, float* scratch,
                              Tile<float> dq, Tile<float> dk, Tile<float> dv);
}  // namespace simd

}  // namespace surrogate::kernels::sequoia
