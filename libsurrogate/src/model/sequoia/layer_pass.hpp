// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/sequoia/sequoia.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"
#include "libsurrogate/src/model/sequoia/nodes.hpp"

namespace surrogate::impl::sequoia {

/// One layer on the nodes that a rank holds:
///
///   q, k, v = projections of norm1(x)                        all nodes
///   v = (ancestors + siblings + children) / 3                level by level, in the schedule's order
///   x += ff(v),   x += mlp(norm2(x))                         all nodes
///
/// Bottom-up, the leaves pass through all of it in tiles that stay in cache, with the attention of
/// their parents to them: q, k and v of leaves never reach memory. Other schedules keep q, k and v of
/// all nodes.
///
/// Ranks meet where the cut level attends to its children: once for each visit of that level. What a
/// node is given does not depend on ranks, threads or tiles.
template <class T>
class LayerPass {
public:
    LayerPass(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// For the nodes of `tree`, which must outlive it. Takes memory for more than ever before.
    void resize(const Tree& tree);

    /// Collective: layer i of the network, in place. Takes no memory.
    void run(int64_t i, Communicator& comm, CutGather<T>& gather, const NodeTiles<T>& x);

    /// Whether ranks meet in a layer, and how often.
    static int64_t n_gather(const Config& config, const Tree& tree);

    int64_t bytes() const;

private:
    /// Memory of one thread.
    struct Scratch {
        kernels::Buffer<T> normed;     // (C)
        kernels::Buffer<T> qkv;        // (3 I): of leaves, if they are not in memory
        kernels::Buffer<T> mlp;        // (2 M)
        kernels::Buffer<T> attention;  // tree_scratch()
        kernels::Buffer<kernels::sequoia::Node<T>> ancestors;  // (n_group, n_ancestor)
    };

    /// body(tile, scratch) for the tiles of a level, on all threads.
    template <class Body>
    void for_tiles(int l, const Body& body);
    void project(const LayerWeights<T>& weights, kernels::Tile<const T> x, Scratch& scratch,
                 kernels::Tile<T> qkv) const;
    void attend(int l, int64_t tile, kernels::Tile<T> qkv, Scratch& scratch) const;
    void attend_of_parents(int l, int64_t tile, kernels::Tile<const T> qkv, Scratch& scratch) const;
    void finish(const LayerWeights<T>& weights, kernels::Tile<const T> v, Scratch& scratch,
                kernels::Tile<T> x) const;
    void run_leaves(const LayerWeights<T>& weights, const NodeTiles<T>& x);
    void visit(int l, Communicator& comm, CutGather<T>& gather);

    int64_t n_ancestor(int l) const;
    int64_t n_last(int l, int64_t tile) const {
        return config_.repeats_last ? 1 + tree_->n_missing(l, tile) : 1;
    }
    /// q, k or v of a tile of projections.
    template <class U>
    kernels::Tile<U> part(kernels::Tile<U> qkv, int which) const {
        return kernels::channels(qkv, which * config_.inner_dim(), config_.inner_dim());
    }

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    kernels::Heads heads_;
    bool keeps_leaves_;  ///< q, k and v of leaves are in memory
    const Tree* tree_ = nullptr;
    NodeTiles<T> qkv_, children_;  // (3 I), (I): attention to the children
    std::vector<int> visits_;
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::sequoia
