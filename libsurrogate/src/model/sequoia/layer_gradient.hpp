// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/sequoia/backward.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/sequoia/attention.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"

namespace surrogate::impl::sequoia {

/// Reverse mode of one layer on one rank, from nothing but the nodes that entered it: q, k, v and
/// what follows are computed again. Values that a visit of a level overwrites are kept, and put
/// back when the schedule is walked backwards: what a visit has read is then there again.
///
/// Works on the calling thread: sums over nodes run in one order.
template <class T>
class LayerGradient {
public:
    LayerGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// For the nodes of `tree`, of one rank, which must outlive it.
    void resize(const Tree& tree);

    /// Layer i: dx, the gradient of what left it, becomes that of x, what entered it. Gradients of
    /// the layer's weights are added to `gradients`.
    void run(int64_t i, const NodeTiles<T>& x, const Gradients& gradients, const NodeTiles<T>& dx);

    int64_t bytes() const;

private:
    /// body(level, tile) for all tiles.
    template <class Body>
    void for_all(const Body& body) const;
    /// A tile of the scratch as wide as `like`.
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
    void finish_backward(const LayerWeights<T>& weights, const WeightName& name, kernels::Tile<T> x,
                         const Gradients& gradients, kernels::Tile<T> v, kernels::Tile<T> dqkv,
                         kernels::Tile<T> dx);
    void visit_backward(size_t visit);
    void tree_backward(int l, int64_t tile);
    void children_backward(int l, int64_t tile);
    void project_backward(const LayerWeights<T>& weights, const WeightName& name,
                          kernels::Tile<T> x, const Gradients& gradients, kernels::Tile<T> dqkv,
                          kernels::Tile<T> dx);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    std::vector<WeightName> names_;  // (num_layers)
    const Tree* tree_ = nullptr;
    Attention<T> attention_;
    NodeTiles<T> dqkv_, thirds_;  // (3 I), (I): of the average over a neighborhood
    std::vector<int> visits_;
    std::vector<kernels::Buffer<T>> kept_;  // of each visit: v of its level before
    typename Attention<T>::Scratch attend_scratch_;
    std::vector<kernels::sequoia::NodeGradient<T>> ancestors_;
    kernels::Buffer<T> inner_, normed_, dnormed_;  // (C): x between attention and MLP
    kernels::Buffer<T> saved_, hidden_, ignored_;  // (2 M), (2 M), (C)
};

}  // namespace surrogate::impl::sequoia
