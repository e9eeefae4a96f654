// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/sequoia/backward.hpp"
#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/sequoia/attention.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"

namespace surrogate::impl::sequoia {

/// Backward pass of one layer on one rank, from the nodes that entered the layer: q, k, v and later
/// values are recomputed. When an update of a level overwrites v, the old values are stored. The
/// backward pass processes the schedule in reverse and restores them, so that each update is
/// differentiated with the values that it read.
///
/// Runs on the calling thread: sums over nodes have a fixed order.
template <class T>
class LayerGradient {
public:
    /// Keeps references to `config`, `layers` and the masks `dropout`, which must outlive this
    /// object. Local.
    LayerGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                  const Dropout& dropout);

    /// Sets the nodes of `tree`, a tree of one rank, which must outlive this object. Allocates.
    void resize(const Tree& tree);

    /// Differentiates layer i. dx contains the gradient of the layer's result and receives the
    /// gradient of its input x. Gradients of the layer's weights are added to `gradients`. Local.
    void run(int64_t i, const NodeTiles<T>& x, const Gradients& gradients, const NodeTiles<T>& dx);

    int64_t bytes() const;

private:
    /// Calls body(level, tile) for all tiles.
    template <class Body>
    void for_all(const Body& body) const;
    /// Returns a tile in `buffer` with as many points as `like`.
    kernels::Tile<T> scratch(kernels::Buffer<T>& buffer, int64_t n_channel,
                             kernels::Tile<T> like) const {
        return {buffer.data(), {n_channel, like.shape[1]}, like.stride};
    }
    kernels::Tile<T> value(int l, int64_t tile) const {
        return attention_.part(attention_.qkv().tile(l, tile), 2);
    }

    void attend(const LayerWeights<T>& weights, const NodeTiles<T>& x);
    void keep_values(size_t visit);
    void put_back_values(size_t visit);
    void finish_backward(int64_t i, int l, int64_t tile, kernels::Tile<T> x,
                         const Gradients& gradients, kernels::Tile<T> dx);
    void mlp_backward(int64_t i, const DropoutRows& rows, kernels::Tile<const T> normed,
                      const Gradients& gradients, kernels::Tile<const T> dx,
                      kernels::Tile<T> dnormed);
    void visit_backward(size_t visit);
    void tree_backward(int l, int64_t tile);
    void children_backward(int l, int64_t tile);
    void project_backward(const LayerWeights<T>& weights, const WeightName& name,
                          kernels::Tile<T> x, const Gradients& gradients, kernels::Tile<T> dqkv,
                          kernels::Tile<T> dx);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const Dropout& dropout_;
    std::vector<WeightName> names_;  // (num_layers)
    const Tree* tree_ = nullptr;
    Attention<T> attention_;
    NodeTiles<T> dqkv_, thirds_;  // (3 I), (I): gradient of one neighborhood's average
    std::vector<int> visits_;
    std::vector<kernels::Buffer<T>> kept_;  // for each visit: v of its level before the visit
    typename Attention<T>::Scratch attend_scratch_;
    std::vector<kernels::sequoia::NodeGradient<T>> ancestors_;
    kernels::Buffer<T> inner_, normed_, dnormed_;  // (C): x between attention and MLP
    kernels::Buffer<T> saved_, hidden_, branch_;   // (2 M), (2 M), (C)
};

}  // namespace surrogate::impl::sequoia
