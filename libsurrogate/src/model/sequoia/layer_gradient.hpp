// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/sequoia/backward.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/sequoia/ancestor_sums.hpp"
#include "libsurrogate/src/model/sequoia/attention.hpp"
#include "libsurrogate/src/model/sequoia/chunks.hpp"
#include "libsurrogate/src/model/sequoia/layer_pass.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"

namespace surrogate::impl::sequoia {

/// Backward pass of one layer, from the nodes that entered the layer and from q, k and v of the
/// forward pass, or, with saves_less, from the nodes alone: q, k and v are recomputed. When an
/// update of a level overwrites v, the old values are stored. The backward pass processes the
/// schedule in reverse and restores them, so that each update is differentiated with the values
/// that it read.
///
/// Ranks communicate as in LayerPass, and once for each time that the reversed schedule leaves the
/// levels below the shared one; see AncestorSums. Sums over nodes have a fixed order, see Chunks
/// and AncestorSums: results do not depend on ranks and threads.
template <class T>
class LayerGradient {
public:
    /// Keeps references to `config`, `layers` and the masks `dropout`, which must outlive this
    /// object. Local.
    LayerGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                  const Dropout& dropout, bool saves_less);

    /// Sets the nodes of `tree`, whose shared level is at least its block level, and their chunks.
    /// Both must outlive this object. Allocates.
    void resize(const Tree& tree, const Chunks& chunks);

    /// Returns the values of layer i that its forward pass must set; null: none.
    LayerValues<T>* values(int64_t i) {
        return saves_less_ ? nullptr : &values_[static_cast<size_t>(i)];
    }
    bool saves_less() const { return saves_less_; }

    /// Differentiates layer i. dx contains the gradient of the layer's result and receives the
    /// gradient of its input x. Gradients of the layer's weights are added to `sums`, chunk by
    /// chunk. Collective. Does not allocate.
    void run(int64_t i, Communicator& comm, CutGather<T>& gather, const NodeTiles<T>& x,
             GradientSums& sums, const NodeTiles<T>& dx);

    /// Returns the number of gathers that the backward pass of a layer adds to the forward pass,
    /// and the bytes that this rank sends in each.
    static int64_t n_gather(const Config& config, const Tree& tree);
    int64_t bytes_sent() const { return sums_.bytes_sent(); }

    int64_t bytes() const;

private:
    /// Scratch memory of one thread.
    struct Scratch {
        kernels::Buffer<T> x, dx, dqkv;             // (C), (C), (3 I): copies of nodes
        kernels::Buffer<T> value, dvalue;           // (I)
        kernels::Buffer<T> inner, normed, dnormed;  // (C): x between attention and MLP
        kernels::Buffer<T> saved, hidden, branch;   // (2 M), (2 M), (C)
        typename Attention<T>::Scratch attention;
        std::vector<kernels::sequoia::NodeGradient<T>> ancestors;
    };

    /// Calls body(tile, scratch) for the tiles of a level, on all threads.
    template <class Body>
    void for_tiles(int l, const Body& body);
    /// Calls body(nodes, part, scratch) for the nodes of level l in one tile and chunk, on all
    /// threads. One thread processes a chunk.
    template <class Body>
    void for_parts(int l, const Body& body);
    /// Returns a tile in `buffer` with as many points as `like`.
    kernels::Tile<T> scratch(kernels::Buffer<T>& buffer, int64_t n_channel,
                             kernels::Tile<T> like) const {
        return {buffer.data(), {n_channel, like.shape[1]}, like.stride};
    }

    void attend(const LayerWeights<T>& weights, Communicator& comm, CutGather<T>& gather,
                const NodeTiles<T>& x);
    void finish_backward(int64_t i, const LevelNodes& at, const NodeTiles<T>& x,
                         const Gradients& gradients, const NodeTiles<T>& dx, Scratch& s);
    void mlp_backward(int64_t i, const DropoutRows& rows, kernels::Tile<const T> normed,
                      const Gradients& gradients, kernels::Tile<const T> dx,
                      kernels::Tile<T> dnormed, Scratch& s);
    void visit_backward(size_t visit, Communicator& comm);
    void tree_backward(int l, Range nodes, int64_t part, Scratch& s);
    void children_backward(int l, Range nodes, Scratch& s);
    void project_backward(int64_t i, const LevelNodes& at, const NodeTiles<T>& x,
                          const Gradients& gradients, const NodeTiles<T>& dx, Scratch& s);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const Dropout& dropout_;
    std::vector<WeightName> names_;  // (num_layers)
    const Tree* tree_ = nullptr;
    const Chunks* chunks_ = nullptr;
    Attention<T> attention_;
    AncestorSums<T> sums_;
    NodeTiles<T> dqkv_, thirds_;  // (3 I), (I): gradient of one neighborhood's average
    std::vector<int> visits_;
    bool saves_less_;
    std::vector<LayerValues<T>> values_;  // (num_layers), or of the current layer
    LayerValues<T>* now_ = nullptr;       // of the current layer
    std::vector<Scratch> scratch_;        // (n_thread)
};

}  // namespace surrogate::impl::sequoia
