// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/model/sequoia/attention.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"

namespace surrogate::impl::sequoia {

/// Evaluates one layer on the nodes that a rank holds:
///
///   q, k, v = projections of norm1(x)             all nodes
///   v = (ancestors + siblings + children) / 3     level by level, in the schedule's order
///   x += ff(v),   x += mlp(norm2(x))              all nodes
///
/// Training drops values, see sites.hpp.
///
/// In the bottom-up schedule, each tile of leaves passes through all steps, and through the
/// attention of the parents to these leaves, while it is in cache: q, k and v of leaves are never
/// written to memory. Other schedules store q, k and v of all nodes.
///
/// Ranks communicate where the shared level attends to its children: once for each visit of this
/// level. Results do not depend on ranks, threads or tiles.
template <class T>
class LayerPass {
public:
    /// Keeps references to `config` and `layers`, which must outlive this object. Local.
    LayerPass(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);
    /// Sets the masks of dropout, which the caller owns. Null, as at first: nothing is dropped.
    void set_dropout(const Dropout* dropout) { dropout_ = dropout; }

    /// Sets the nodes of `tree`, which must outlive this object. Local. Allocates only if the sizes
    /// exceed all earlier ones.
    void resize(const Tree& tree);

    /// Evaluates layer i of the network on x, in place. Collective. Does not allocate.
    void run(int64_t i, Communicator& comm, CutGather<T>& gather, const NodeTiles<T>& x);

    /// Returns the number of gathers over ranks in a layer.
    static int64_t n_gather(const Config& config, const Tree& tree);

    int64_t bytes() const;

private:
    /// Scratch memory of one thread.
    struct Scratch {
        kernels::Buffer<T> normed;  // (C)
        kernels::Buffer<T> qkv;     // (3 I): of leaves, if they are not stored
        kernels::Buffer<T> mlp;     // (2 M)
        kernels::Buffer<T> branch;  // (C): with dropout
        typename Attention<T>::Scratch attention;
    };

    /// Calls body(tile, scratch) for the tiles of a level, on all threads.
    template <class Body>
    void for_tiles(int l, const Body& body);
    void project(const LayerWeights<T>& weights, kernels::Tile<const T> x, Scratch& scratch,
                 kernels::Tile<T> qkv) const;
    /// A tile of nodes in a layer.
    struct TilePlace {
        int64_t layer = 0;
        int level = 0;
        int64_t tile = 0;
    };
    bool drops() const { return dropout_ && dropout_->drops(config_.dropout); }
    void finish(const TilePlace& place, kernels::Tile<const T> v, Scratch& scratch,
                kernels::Tile<T> x) const;
    void finish_with_dropout(const TilePlace& place, kernels::Tile<const T> v, Scratch& scratch,
                             kernels::Tile<T> x) const;
    void run_leaves(int64_t i, const NodeTiles<T>& x);
    void visit(int l, Communicator& comm, CutGather<T>& gather);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const Tree* tree_ = nullptr;
    const Dropout* dropout_ = nullptr;
    Attention<T> attention_;
    std::vector<int> visits_;
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::sequoia
