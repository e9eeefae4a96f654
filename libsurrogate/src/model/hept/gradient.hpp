// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/hept/forward.hpp"
#include "libsurrogate/src/model/hept/layer_gradient.hpp"

namespace surrogate::impl::hept {

/// Destination of the gradients of a network's inputs, points in tiles; overwritten. data null: not
/// wanted.
template <class T>
struct InputGradients {
    kernels::Tiles<T> x = {};            ///< (n_feature, n_point): classes as they were embedded
    kernels::Tiles<T> coordinates = {};  ///< (D, n_point)
};

/// Forward and reverse mode of a whole network on one rank. Forward keeps the tokens before each
/// layer, (L + 1) d numbers each; backward computes the rest again, layer by layer. Orders and
/// cells are constants. A copy of a point passes its gradients on to the point.
template <class T>
class NetworkGradient {
public:
    /// `config` and `layers` must outlive it.
    NetworkGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// For the tokens of `plan`, of one rank, which must outlive it.
    void resize(const TokenPlan& plan);

    /// (D, n_point), once for each geometry.
    void set_coordinates(const kernels::Tiles<const T>& coordinates);

    /// x (n_feature, n_point), which stays in place for backward; y (n_out, n_point), the embedding
    /// or the classes before any sigmoid. Returns whether all queries and keys were finite;
    /// otherwise there is no backward.
    bool forward(const kernels::Tiles<const T>& x, const kernels::Tiles<T>& y);

    /// Backward pass of the last forward pass: from dy to the gradients of all weights but
    /// pids_enc, added to `gradients`, and of the inputs.
    void backward(const kernels::Tiles<const T>& x, const kernels::Tiles<const T>& dy,
                  const Gradients& gradients, const InputGradients<T>& inputs);

    const TokenExchange<T>& exchange() const { return forward_.exchange(); }

    /// (d, n_own): the tokens before layer l, or after the last one.
    const kernels::Tiles<T>& states(int64_t l) const { return states_[static_cast<size_t>(l)]; }
    int64_t bytes() const;

private:
    kernels::Tiles<T> tokens(kernels::Buffer<T>& buffer, int64_t n_channel) const {
        return {buffer.data(), n_channel, plan_->n_own()};
    }
    /// A tile of the scratch as wide as `like`.
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
    Forward<T> forward_;
    LayerGradient<T> layer_;
    Readout<T> readout_;
    std::vector<kernels::Buffer<T>> states_data_;  // (L + 1)
    std::vector<kernels::Tiles<T>> states_;
    kernels::Buffer<T> dh_, de_, dcoordinates_;  // of tokens: (d), (m), (D)
    kernels::Buffer<T> e_, all_states_, work_;   // a tile each: (m), ((L + 1) d), the output MLP
    kernels::Buffer<T> saved_, hidden_;          // (2 d)
    kernels::Buffer<T> features_, dfeatures_;    // (n_feature)
};

}  // namespace surrogate::impl::hept
