// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sequoia/sequoia.hpp"

/// Gradients of attention on a tree. The forward pass needs to save only q, k and the values that
/// it read: scores and their statistics are recomputed. With p the weights of one softmax, g_i the
/// gradient of its result, and queries as passed (which include log2(e) / sqrt(d)):
///
///   delta_i = sum_j p_ij <g_i, v_j>
///   ds_ij   = ln(2) p_ij (<g_i, v_j> - delta_i)
///   dq_i += sum_j ds_ij k_j,   dk_j += sum_i ds_ij q_i,   dv_j += sum_i p_ij g_i
///
/// Sums over siblings are in order; rounding and untouched columns as in sequoia.hpp.
namespace surrogate::kernels::sequoia {

/// Computes g = dy / 3, then sets dy = 0. g is the gradient of each of the three averages of
/// attend_tree(). dy is the gradient of its result; the same memory later also accumulates gradient
/// contributions from other nodes.
///   dy, g (H*e, n_node) tiles
template <class T>
void take_thirds(const Queue& queue, Tile<T> dy, Tile<T> g);

/// Target for the gradients of a node in another tile, with the layout of Node.
template <class T>
struct NodeGradient {
    T* k = nullptr;
    T* v = nullptr;
    int64_t row = 0;
};

/// Adds the gradients of attend_tree() for ancestors and siblings; the gradient of `children` is g
/// itself.
///   q, k, v, around  as the forward pass read them (v before it was overwritten)
///   g         (H*e, n_node) tile, from take_thirds()
///   ancestors (n_group, n_ancestor): targets for each group's contribution to the gradients of its
///             ancestors' keys and values. Groups are in ascending order; the contribution of
///             lane_count siblings is summed first, then added. Threads whose groups have an
///             ancestor
///             in common need separate memory for it, which the caller joins. Parents are never
///             shared: their target may be the final one.
///   dq, dk (H*d, n_node), dv (H*e, n_node) tiles, added to; no overlap with others
template <class T>
void attend_tree_backward(const Queue& queue, const Heads& heads, Tile<const T> q, Tile<const T> k,
                          Tile<const T> v, const Surroundings<T>& around, Tile<const T> g,
                          std::span<const NodeGradient<T>> ancestors, T* scratch, Tile<T> dq,
                          Tile<T> dk, Tile<T> dv);

/// Adds the gradients of attend_children().
///   q, k, v as the forward pass read them; g (H*e, n_parent) tile: the gradient of its result
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
