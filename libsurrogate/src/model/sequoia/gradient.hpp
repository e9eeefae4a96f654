// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/sequoia/embedding.hpp"
#include "libsurrogate/src/model/sequoia/layer_gradient.hpp"
#include "libsurrogate/src/model/sequoia/layer_pass.hpp"
#include "libsurrogate/src/model/sequoia/readout.hpp"

namespace surrogate::impl::sequoia {

/// Predictions or their gradients. Leaves are stored in tiles, in the order of the leaves; nodes
/// and clouds in rows (n_row, num_classes).
template <class T>
struct Predictions {
    kernels::Tiles<T> leaves = {};
    T* rows = nullptr;
};

/// Forward and backward pass of a whole network on one rank. The forward pass stores the nodes
/// before each layer, (num_layers + 1) C numbers per node; the backward pass recomputes the rest,
/// layer by layer.
template <class T>
class NetworkGradient {
public:
    /// Keeps references to `config` and `layers`, which must outlive this object. Local.
    NetworkGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// Sets the nodes of `tree`, a tree of one rank, which must outlive this object. Allocates.
    void resize(const Tree& tree);

    /// Sets the masks of the next forward() and its backward(); none, as at first: nothing is
    /// dropped. Local.
    void set_dropout(std::optional<DropoutDraw> draw) { dropout_.set(draw); }

    /// Evaluates the network. `inputs` must stay unchanged until backward(). Local.
    void forward(const LeafInputs<T>& inputs, const Predictions<T>& y);

    /// Computes, for the last forward() and from dy, the gradients of all weights, which are added
    /// to `gradients`. If dreal has data, also computes the gradients of the real inputs,
    /// (n_real, leaves); gradients of positions that only determine the tree are zero. Local.
    void backward(const LeafInputs<T>& inputs, const Predictions<const T>& dy,
                  const Gradients& gradients, const kernels::Tiles<T>& dreal);

    int64_t n_row() const { return readout_.n_row(); }
    const Readout<T>& readout() const { return readout_; }
    /// Returns the nodes before layer i, or after the last layer.
    const NodeTiles<T>& nodes(int64_t i) const { return x_[static_cast<size_t>(i)]; }
    int64_t bytes() const;

private:
    kernels::Tile<T> scratch(kernels::Buffer<T>& buffer, int64_t n_channel,
                             kernels::Tile<T> like) const {
        return {buffer.data(), {n_channel, like.shape[1]}, like.stride};
    }
    void head_backward(kernels::Tile<T> normed, kernels::Tile<const T> dy,
                       const Gradients& gradients, kernels::Tile<T> dnormed);
    void read_rows_backward(const Predictions<const T>& dy, const Gradients& gradients);
    void read_cloud_backward(const T* dy, const Gradients& gradients);
    kernels::Tile<T> dy_of(int l, int64_t tile, int64_t first_row, const Predictions<const T>& dy);
    void drop_embedding(const NodeTiles<T>& x) const;
    void means_backward();
    void leaves_backward(int64_t tile, const LeafInputs<T>& inputs, const Gradients& gradients,
                         const kernels::Tiles<T>& dreal);
    kernels::Tile<T> features_backward(const LeafFeatures<T>& leaves, kernels::Tile<T> dfeatures,
                                       const Gradients& gradients);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const Tree* tree_ = nullptr;
    std::unique_ptr<Communicator> self_;
    Dropout dropout_;
    Embedding<T> embedding_;
    LayerPass<T> pass_;
    LayerGradient<T> layer_;
    Readout<T> readout_;
    CutGather<T> gather_;
    std::vector<NodeTiles<T>> x_;  // (num_layers + 1)
    NodeTiles<T> dx_;
    kernels::Buffer<T> normed_, dnormed_, saved_, hidden_, y_, dy_;  // one tile each
    kernels::Buffer<T> dfeatures_, dinputs_, angles_;
    kernels::Buffer<T> share_;           // (C): contribution of a node to the cloud's gradient
    kernels::Buffer<int64_t> sequence_;  // 0 .. N - 1, tokens only
};

}  // namespace surrogate::impl::sequoia
