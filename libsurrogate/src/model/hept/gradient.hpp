// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/hept/forward.hpp"
#include "libsurrogate/src/model/hept/layer_gradient.hpp"

namespace surrogate::impl::hept {

/// Destination of the gradients of the network's inputs, for the points in tiles; overwritten. A
/// null `data` pointer means that the gradient is not computed.
template <class T>
struct InputGradients {
    kernels::Tiles<T> x = {};            ///< (n_feature, n_point), after the embedding of classes
    kernels::Tiles<T> coordinates = {};  ///< (D, n_point)
};

/// Forward and backward pass of a whole network on one rank. The forward pass stores the tokens
/// before each layer, (L + 1) d numbers per token; the backward pass recomputes the rest, layer by
/// layer. Orders and cells are constants. The gradients of a copy are added to the gradients of its
/// point.
template <class T>
class NetworkGradient {
public:
    /// Keeps references to `config` and `layers`, which must outlive this object. Local.
    NetworkGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// Sets the tokens of `plan`, a plan of one rank, which must outlive this object. Allocates.
    void resize(const TokenPlan& plan);

    /// Sets the masks of the next forward() and its backward(); none, as at first: nothing is
    /// dropped. Local.
    void set_dropout(std::optional<DropoutDraw> draw) { dropout_.set(draw); }

    /// Sets the coordinates (D, n_point); called once per geometry.
    void set_coordinates(const kernels::Tiles<const T>& coordinates);

    /// Evaluates the network. x (n_feature, n_point) must stay unchanged until backward(); y
    /// (n_out, n_point) receives the embedding, or the classes before any sigmoid. Returns true if
    /// all queries and keys are finite; otherwise backward() must not be called. Local.
    bool forward(const kernels::Tiles<const T>& x, const kernels::Tiles<T>& y);

    /// Computes, for the last forward() and from dy (n_out, n_point), the gradients of all weights
    /// except pids_enc, which are added to `gradients`, and the gradients of the inputs. Local.
    void backward(const kernels::Tiles<const T>& x, const kernels::Tiles<const T>& dy,
                  const Gradients& gradients, const InputGradients<T>& inputs);

    const TokenExchange<T>& exchange() const { return forward_.exchange(); }

    /// Returns the tokens before layer l, or after the last layer: (d, n_own).
    const kernels::Tiles<T>& states(int64_t l) const { return states_[static_cast<size_t>(l)]; }
    int64_t bytes() const;

private:
    kernels::Tiles<T> tokens(kernels::Buffer<T>& buffer, int64_t n_channel) const {
        return {buffer.data(), n_channel, plan_->n_own()};
    }
    /// Returns a tile in `buffer` with as many points as `like`.
    kernels::Tile<T> scratch(kernels::Buffer<T>& buffer, int64_t n_channel,
                             kernels::Tile<const T> like) const {
        return {buffer.data(), {n_channel, like.shape[1]}, like.stride};
    }
    const kernels::Linear<T>& states_layer(int64_t l) const;
    void read_backward(int64_t tile, const kernels::Tiles<const T>& dy, const Gradients& gradients);
    void states_backward(int64_t l, bool accumulate);
    void encode_backward(int64_t tile, const kernels::Tiles<const T>& x, const Gradients& gradients,
                         const kernels::Tiles<T>& dx);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const TokenPlan* plan_ = nullptr;
    std::unique_ptr<Communicator> self_;
    Dropout dropout_;
    Forward<T> forward_;
    LayerGradient<T> layer_;
    Readout<T> readout_;
    std::vector<kernels::Buffer<T>> states_data_;  // (L + 1)
    std::vector<kernels::Tiles<T>> states_;
    kernels::Buffer<T> dh_, de_, dcoordinates_;  // per token: (d), (m), (D)
    kernels::Buffer<T> e_, all_states_, work_;   // one tile each: (m), ((L + 1) d), the output MLP
    kernels::Buffer<T> saved_, hidden_;          // (2 d)
    kernels::Buffer<T> features_, dfeatures_;    // (n_feature)
};

}  // namespace surrogate::impl::hept
