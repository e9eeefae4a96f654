// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/sequoia/chunks.hpp"
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

/// Forward and backward pass of a whole network. The forward pass stores the nodes before each
/// layer, (num_layers + 1) C numbers per node, and, unless saves_less, queries, keys, values before
/// and after attention and the nodes before the MLP, C + 4 I per node and layer (bottom-up
/// schedule); the backward pass recomputes the rest, layer by layer. Ranks compute the gradients of
/// their own nodes, and all ranks compute the gradients of the levels from the shared level on;
/// rank 0 adds the weights' gradients of these levels.
template <class T>
class NetworkGradient {
public:
    /// Keeps references to `config` and `layers`, which must outlive this object. Local.
    NetworkGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                    bool saves_less = false);

    /// Sets the nodes of `tree`, whose shared level is at least block_level(), and which must
    /// outlive this object. Allocates.
    void resize(const Tree& tree);

    /// Sets the masks of the next forward() and its backward(); none, as at first: nothing is
    /// dropped. Local.
    void set_dropout(std::optional<DropoutDraw> draw) { dropout_.set(draw); }

    /// Evaluates the network. `inputs` must stay unchanged until backward(). Collective.
    void forward(Communicator& comm, const LeafInputs<T>& inputs, const Predictions<T>& y);

    /// Computes, for the last forward() and from dy, the gradients of all weights, which are added
    /// to `sums`, chunk by chunk. dy has the own leaves; rows are equal on all ranks. If dreal has
    /// data, also computes the gradients of the real inputs, (n_real, own leaves); gradients of
    /// positions that only determine the tree are zero. Collective. Does not allocate.
    void backward(Communicator& comm, const LeafInputs<T>& inputs, const Predictions<const T>& dy,
                  GradientSums& sums, const kernels::Tiles<T>& dreal);

    int64_t n_row() const { return readout_.n_row(); }
    const Readout<T>& readout() const { return readout_; }
    const LayerGradient<T>& layer() const { return layer_; }
    /// Returns the nodes before layer i, or after the last layer.
    const NodeTiles<T>& nodes(int64_t i) const { return x_[static_cast<size_t>(i)]; }
    int64_t bytes() const;

private:
    /// Scratch memory of one thread, a tile of nodes each.
    struct Scratch {
        kernels::Buffer<T> x, dx;                       // (C): copies of nodes
        kernels::Buffer<T> normed, dnormed;             // (C)
        kernels::Buffer<T> saved, hidden, y, dy;        // (2 M), (2 M), (c_out), (c_out)
        kernels::Buffer<T> dfeatures, dinputs, angles;  // (c_in), (d), (c_in)
    };

    kernels::Tile<T> scratch(kernels::Buffer<T>& buffer, int64_t n_channel,
                             kernels::Tile<T> like) const {
        return {buffer.data(), {n_channel, like.shape[1]}, like.stride};
    }
    /// Calls body(nodes, gradients, scratch) for all nodes, chunk by chunk, on all threads. Chunks
    /// add the gradients of weights `range`.
    template <class Body>
    void for_chunks(GradientSums& sums, Range range, const Body& body);
    void head_backward(kernels::Tile<T> normed, kernels::Tile<const T> dy,
                       const Gradients& gradients, kernels::Tile<T> dnormed, Scratch& s);
    void norm_backward(const LevelNodes& at, kernels::Tile<const T> x,
                       kernels::Tile<const T> dnormed, const Gradients& gradients, Scratch& s);
    void read_rows_backward(const Predictions<const T>& dy, GradientSums& sums);
    void read_cloud_backward(const T* dy, GradientSums& sums);
    kernels::Tile<T> dy_of(const LevelNodes& at, const Predictions<const T>& dy,
                           kernels::Tile<T> like, Scratch& s) const;
    void drop_embedding(const NodeTiles<T>& x) const;
    void means_backward();
    void leaves_backward(Range nodes, const LeafInputs<T>& inputs, const Gradients& gradients,
                         const kernels::Tiles<T>& dreal, int thread);
    kernels::Tile<T> features_backward(const LeafFeatures<T>& leaves, kernels::Tile<T> dfeatures,
                                       const Gradients& gradients, Scratch& s);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    int64_t n_embedding_ = 0;  // elements of an arena before the weights of layers
    const Tree* tree_ = nullptr;
    Chunks chunks_;
    Dropout dropout_;
    Embedding<T> embedding_;
    LayerPass<T> pass_;
    LayerGradient<T> layer_;
    Readout<T> readout_;
    CutGather<T> gather_;
    std::vector<NodeTiles<T>> x_;  // (num_layers + 1)
    NodeTiles<T> dx_;
    std::vector<Scratch> scratch_;       // (n_thread)
    kernels::Buffer<T> share_;           // (C): contribution of a node to the cloud's gradient
    kernels::Buffer<int64_t> sequence_;  // numbers of the own leaves, tokens only
};

}  // namespace surrogate::impl::sequoia
