// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/sequoia/embedding.hpp"
#include "libsurrogate/src/model/sequoia/layer_gradient.hpp"
#include "libsurrogate/src/model/sequoia/layer_pass.hpp"
#include "libsurrogate/src/model/sequoia/readout.hpp"

namespace surrogate::impl::sequoia {

/// Predictions, or their gradients: of leaves in tiles, in the order of the leaves; of nodes and
/// clouds in rows (n_row, num_classes).
template <class T>
struct Predictions {
    kernels::Tiles<T> leaves = {};
    T* rows = nullptr;
};

/// Forward and reverse mode of a whole network on one rank. Forward keeps the nodes before each
/// layer, (num_layers + 1) C numbers a node; backward computes the rest again, layer by layer.
template <class T>
class NetworkGradient {
public:
    /// `config` and `layers` must outlive it.
    NetworkGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// For the nodes of `tree`, of one rank, which must outlive it.
    void resize(const Tree& tree);

    /// `inputs` stay in place for backward.
    void forward(const LeafInputs<T>& inputs, const Predictions<T>& y);

    /// Backward pass of the last forward pass: from dy to the gradients of all weights, added to
    /// `gradients`, and of the real inputs (n_real, leaves), if wanted; those of positions of which
    /// only the tree is made are zeros.
    void backward(const LeafInputs<T>& inputs, const Predictions<const T>& dy,
                  const Gradients& gradients, const kernels::Tiles<T>& dreal);

    int64_t n_row() const { return readout_.n_row(); }
    const Readout<T>& readout() const { return readout_; }
    /// The nodes before layer i, or after the last one.
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
    Embedding<T> embedding_;
    LayerPass<T> pass_;
    LayerGradient<T> layer_;
    Readout<T> readout_;
    CutGather<T> gather_;
    std::vector<NodeTiles<T>> x_;  // (num_layers + 1)
    NodeTiles<T> dx_;
    kernels::Buffer<T> normed_, dnormed_, saved_, hidden_, y_, dy_;  // a tile of each
    kernels::Buffer<T> dfeatures_, dinputs_, angles_;
    kernels::Buffer<T> share_;           // (C): of a node in the cloud's gradient
    kernels::Buffer<int64_t> sequence_;  // 0 .. N - 1, of tokens
};

}  // namespace surrogate::impl::sequoia
