// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/model/hept/chunks.hpp"
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

/// Forward and backward pass of a whole network. The forward pass stores the tokens before each
/// layer, (L + 1) d numbers per token, and, unless saves_less, the attention sums and the tokens
/// before the MLP, H (d + 1) + d per token and layer; the backward pass recomputes the rest, layer
/// by layer. Orders and cells are constants. The gradients of a copy are added to the gradients of
/// its point. Gradients of weights are summed in chunks, see Chunks.
template <class T>
class NetworkGradient {
public:
    /// Keeps references to `config` and `layers`, which must outlive this object. Local.
    NetworkGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                    bool saves_less = false);

    /// Sets the tokens of `plan`, which must outlive this object. Local. Allocates.
    void resize(Communicator& comm, const TokenPlan& plan);

    /// Sets the masks of the next forward() and its backward(); none, as at first: nothing is
    /// dropped. Local.
    void set_dropout(std::optional<DropoutDraw> draw) { dropout_.set(draw); }

    /// Sets the coordinates (D, n_point); called once per geometry. Collective.
    void set_coordinates(Communicator& comm, const kernels::Tiles<const T>& coordinates);

    /// Evaluates the network. x (n_feature, n_point) must stay unchanged until backward(); y
    /// (n_out, n_point) receives the embedding, or the classes before any sigmoid. Returns true if
    /// all queries and keys of this rank are finite; unless they are on all ranks, backward() must
    /// not be called. Collective.
    bool forward(Communicator& comm, const kernels::Tiles<const T>& x, const kernels::Tiles<T>& y);

    /// Computes, for the last forward() and from dy (n_out, n_point), the gradients of all weights
    /// except pids_enc, which are added to `sums`, chunk by chunk, and the gradients of the inputs.
    /// Collective. Does not allocate.
    void backward(Communicator& comm, const kernels::Tiles<const T>& x,
                  const kernels::Tiles<const T>& dy, GradientSums& sums,
                  const InputGradients<T>& inputs);

    const TokenExchange<T>& exchange() const { return forward_.exchange(); }
    const LayerGradient<T>& layer() const { return layer_; }
    const Chunks& chunks() const { return chunks_; }

    /// Returns the tokens before layer l, or after the last layer: (d, n_own).
    const kernels::Tiles<T>& states(int64_t l) const { return states_[static_cast<size_t>(l)]; }
    int64_t bytes() const;

private:
    /// Scratch memory of one thread, for a tile of tokens.
    struct Scratch {
        kernels::Buffer<T> h, dh, e, de, dy;     // (d), (d), (m), (m), (n_out)
        kernels::Buffer<T> all_states, work;     // ((L + 1) d), the output MLP
        kernels::Buffer<T> saved, hidden;        // (2 d)
        kernels::Buffer<T> features, dfeatures;  // (n_feature)
        kernels::Buffer<T> dcoordinates;         // (D)
    };

    kernels::Tiles<T> tokens(kernels::Buffer<T>& buffer, int64_t n_channel) const {
        return {buffer.data(), n_channel, plan_->n_own()};
    }
    /// Returns a tile in `buffer` with as many points as `like`.
    kernels::Tile<T> scratch(kernels::Buffer<T>& buffer, int64_t n_channel,
                             kernels::Tile<const T> like) const {
        return {buffer.data(), {n_channel, like.shape[1]}, like.stride};
    }
    const kernels::Linear<T>& states_layer(int64_t l) const;
    void read_backward(Range tokens, const kernels::Tiles<const T>& dy, const Gradients& gradients,
                       Scratch& s);
    void states_backward(int64_t l, bool accumulate);
    void encode_backward(Range tokens, const kernels::Tiles<const T>& x, const Gradients& gradients,
                         const InputGradients<T>& inputs, Scratch& s);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const TokenPlan* plan_ = nullptr;
    Chunks chunks_;
    Dropout dropout_;
    Forward<T> forward_;
    LayerGradient<T> layer_;
    Readout<T> readout_;
    std::vector<kernels::Buffer<T>> states_data_;  // (L + 1)
    std::vector<kernels::Tiles<T>> states_;
    kernels::Buffer<T> dh_, de_, dcoordinates_;  // per token: (d), (m), (D)
    std::vector<Scratch> scratch_;               // (n_thread)
};

}  // namespace surrogate::impl::hept
