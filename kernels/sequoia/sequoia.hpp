// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "kernels/attention/attention.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/tiles.hpp"

/// Attention on a k-ary tree: each node attends to its ancestors, siblings and children, in three
/// softmaxes. Nodes of a level are stored side by side in tiles whose width is a multiple of k, so
/// that siblings share a tile. Queries are multiplied by log2(e) / sqrt(d) in advance: every
/// exponential is a power of two. Source: Sequoia (NeurIPS 2023 workshop); the specification of the
/// family, section 2.
///
/// Columns that are not nodes of a call are neither read nor written: q and y may be some columns
/// of a larger tile. Results are bitwise identical on every SIMD instruction set. The results of a
/// group of siblings depend neither on its column in the tile nor on the other groups there.
namespace surrogate::kernels::sequoia {

/// Returns the width of tiles of nodes: whole groups of siblings, about tile_points nodes.
constexpr int64_t tile_nodes(int64_t k) {
    return k >= tile_points ? k : tile_points / k * k;
}

/// The channels of one node in another tile: channel c of its key at k[c * row], of its value at
/// v[c * row].
template <class T>
struct Node {
    const T* k = nullptr;
    const T* v = nullptr;
    int64_t row = 0;
};

/// Neighborhood of a tile of nodes of one level: groups of k siblings from its first column on; the
/// last group may be shorter (the end of the level).
template <class T>
struct Surroundings {
    int64_t k = 2;
    bool has_siblings = true;  ///< false: the neighborhood is dropped
    /// (n_group, n_ancestor), from the parent upwards; n_ancestor 0: none, or dropped
    std::span<const Node<T>> ancestors = {};
    int64_t n_ancestor = 0;
    Tile<const T> children;  ///< (H*e, n_node): attention to the children, or data null: none
    /// Multiplicity of the last node of the tile as a key of its group: 1, or, for a short last
    /// group with ragged = repeat, the number of missing nodes to k, plus 1.
    int64_t n_last = 1;
};

/// Computes y = (ancestors + siblings + children) / 3, sums in this order; a missing term adds 0.
///   q, k (H*d, n_node), v, y (H*e, n_node) tiles, v the values of the siblings; y may be v
///   scratch    tree_scratch() elements, of this thread
/// A NaN in a key or a value reaches all nodes that attend to it.
template <class T>
void attend_tree(const Queue& queue, const Heads& heads, Tile<const T> q, Tile<const T> k,
                 Tile<const T> v, const Surroundings<T>& around, T* scratch, Tile<T> y);

/// Computes attention of parents to their children: y(.., p) of parent p from columns p*k .. of k
/// and v.
///   q (H*d, n_parent), y (H*e, n_parent), k (H*d, n_child), v (H*e, n_child) tiles
///   n_parent = ceil(n_child / k), n_child <= tile_nodes(k); n_last as above
///   scratch    tree_scratch() elements, with any n_ancestor
template <class T>
void attend_children(const Queue& queue, const Heads& heads, int64_t k_branch, int64_t n_last,
                     Tile<const T> q, Tile<const T> k, Tile<const T> v, T* scratch, Tile<T> y);

/// Returns the elements of scratch, which are sufficient for kernels/sequoia/backward.hpp too.
int64_t tree_scratch(const Heads& heads, int64_t k, int64_t n_ancestor);

namespace ref {
template <class T>
void attend_tree(const Heads& heads, Tile<const T> q, Tile<const T> k, Tile<const T> v,
                 const Surroundings<T>& around, T* scratch, Tile<T> y);
template <class T>
void attend_children(const Heads& heads, int64_t k_branch, int64_t n_last, Tile<const T> q,
                     Tile<const T> k, Tile<const T> v, T* scratch, Tile<T> y);
}  // namespace ref
namespace simd {
void attend_tree(VectorLevel level, const Heads& heads, Tile<const float> q, Tile<const float> k,
                 Tile<const float> v, const Surroundings<float>& around, float* scratch,
                 Tile<float> y);
void attend_children(VectorLevel level, const Heads& heads, int64_t k_branch, int64_t n_last,
                     Tile<const float> q, Tile<const float> k, Tile<const float> v, float* scratch,
                     Tile<float> y);
}  // namespace simd

}  // namespace surrogate::kernels::sequoia
