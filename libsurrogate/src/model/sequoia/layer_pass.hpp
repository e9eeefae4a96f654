// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/model/sequoia/attention.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"

namespace surrogate::impl::sequoia {

/// Values of one layer at the nodes that a rank holds, for its backward pass.
template <class T>
struct LayerValues {
    NodeTiles<T> qkv;  ///< (3 I); v is the result of the attention
    std::vector<kernels::Buffer<T>>
        before;          ///< for each visit: v (I) of its level before the visit
    NodeTiles<T> inner;  ///< (C): x between attention and MLP

    /// Sets the nodes of `tree`. Allocates.
    void resize(const Config& config, const Tree& tree, bool has_inner);
    /// Stores v of a tile of the level of a visit.
    void keep(size_t visit, int l, int64_t tile) {
        const kernels::Tile<T> v = value(l, tile);
        const int64_t size = v.shape[0] * v.stride[0];
        std::copy_n(v.data, size, before[visit].data() + tile * size);
    }
    /// Restores what keep() has stored.
    void put_back(size_t visit, int l, int64_t tile) const {
        const kernels::Tile<T> v = value(l, tile);
        const int64_t size = v.shape[0] * v.stride[0];
        std::copy_n(before[visit].data() + tile * size, size, v.data);
    }
    int64_t bytes() const;

private:
    kernels::Tile<T> value(int l, int64_t tile) const {
        const kernels::Tile<T> all = qkv.tile(l, tile);
        return kernels::channels(all, all.shape[0] / 3 * 2, all.shape[0] / 3);
    }
};

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
/// written to memory, except for a backward pass. Other schedules store q, k and v of all nodes.
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

    /// Sets the nodes of `tree`, which must outlive this object. stores: runs are given `values`.
    /// Local. Allocates only if the sizes exceed all earlier ones.
    void resize(const Tree& tree, bool stores = false);

    /// Evaluates layer i of the network on x, in place, and sets `values`, unless null. Collective.
    /// Does not allocate.
    void run(int64_t i, Communicator& comm, CutGather<T>& gather, const NodeTiles<T>& x,
             LayerValues<T>* values = nullptr);

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
    void keep_inner(const TilePlace& place, kernels::Tile<const T> x) const;
    void finish(const TilePlace& place, kernels::Tile<const T> v, Scratch& scratch,
                kernels::Tile<T> x) const;
    void finish_with_dropout(const TilePlace& place, kernels::Tile<const T> v, Scratch& scratch,
                             kernels::Tile<T> x) const;
    void run_leaves(int64_t i, const NodeTiles<T>& x);
    void visit(size_t visit, Communicator& comm, CutGather<T>& gather);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const Tree* tree_ = nullptr;
    const Dropout* dropout_ = nullptr;
    Attention<T> attention_;
    std::vector<int> visits_;
    LayerValues<T>* values_ = nullptr;  // of the current run
    std::vector<Scratch> scratch_;      // (n_thread)
};

}  // namespace surrogate::impl::sequoia
