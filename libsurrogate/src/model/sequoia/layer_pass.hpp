// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/model/sequoia/attention.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"

namespace surrogate::impl::sequoia {

/// One layer on the nodes that a rank holds:
///
///   q, k, v = projections of norm1(x)                        all nodes
///   v = (ancestors + siblings + children) / 3                level by level, in the schedule's
///                                                            order
///   x += ff(v),   x += mlp(norm2(x))                         all nodes
///
/// Bottom-up, the leaves pass through all of it in tiles that stay in cache, with the attention of
/// their parents to them: q, k and v of leaves never reach memory. Other schedules keep q, k and v
/// of all nodes.
///
/// Ranks meet where the cut level attends to its children: once for each visit of that level. What
/// a node is given does not depend on ranks, threads or tiles.
template <class T>
class LayerPass {
public:
    LayerPass(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// For the nodes of `tree`, which must outlive it. Takes memory for more than ever before.
    void resize(const Tree& tree);

    /// Collective: layer i of the network, in place. Takes no memory.
    void run(int64_t i, Communicator& comm, CutGather<T>& gather, const NodeTiles<T>& x);

    /// Number of gathers in a layer.
    static int64_t n_gather(const Config& config, const Tree& tree);

    int64_t bytes() const;

private:
    /// Memory of one thread.
    struct Scratch {
        kernels::Buffer<T> normed;  // (C)
        kernels::Buffer<T> qkv;     // (3 I): of leaves, if they are not kept
        kernels::Buffer<T> mlp;     // (2 M)
        typename Attention<T>::Scratch attention;
    };

    /// body(tile, scratch) for the tiles of a level, on all threads.
    template <class Body>
    void for_tiles(int l, const Body& body);
    void project(const LayerWeights<T>& weights, kernels::Tile<const T> x, Scratch& scratch,
                 kernels::Tile<T> qkv) const;
    void finish(const LayerWeights<T>& weights, kernels::Tile<const T> v, Scratch& scratch,
                kernels::Tile<T> x) const;
    void run_leaves(const LayerWeights<T>& weights, const NodeTiles<T>& x);
    void visit(int l, Communicator& comm, CutGather<T>& gather);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const Tree* tree_ = nullptr;
    Attention<T> attention_;
    std::vector<int> visits_;
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::sequoia
