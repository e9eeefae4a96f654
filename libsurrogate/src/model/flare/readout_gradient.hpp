// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/model/flare/gradient_places.hpp"
#include "libsurrogate/src/model/flare/sequence_readout.hpp"

namespace surrogate::impl::flare {

/// Runs the backward pass of a SequenceReadout. Every rank has the prediction and its gradient, so
/// all ranks compute the backward pass of the head; rank 0 contributes the gradients of its
/// weights. With mean pooling, each token receives an equal part of the gradient. With max pooling,
/// the gradient of a channel goes to the first token of the sequence that has the maximum. Bitwise
/// reproducible for any number of ranks and threads.
template <class T>
class ReadoutGradient {
public:
    /// Local. All arguments must outlive the object. gives_weights: this rank contributes the
    /// gradients of weights.
    ReadoutGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                    const SequenceReadout<T>& forward, const Places& places, bool gives_weights);

    /// (out_dim): where the caller writes dL / d logits, the same on every rank.
    T* dlogits() { return dlogits_.data(); }

    /// Collective if a largest is asked for, otherwise local; takes no memory. Through the head.
    /// Returns whether tokens have gradients: a rank is alive, and there are tokens to pool.
    bool run(Communicator& comm, bool alive, GradientSums& sums);

    /// dx of a tile of what SequenceReadout::take() got as x, written.
    void give(int64_t tile, kernels::Tile<const T> x, kernels::Tile<T> dx) const;
    /// The same for the class token, x of a tile with that one alone.
    void give_class_token(kernels::Tile<T> dx) const;

    int64_t bytes_sent() const;
    int64_t collectives() const { return takes_largest() ? 1 : 0; }
    int64_t bytes() const;

private:
    bool takes_largest() const { return config_.sequence.pool == Pool::max; }
    void head_back(GradientSums& sums);
    bool find_largest(Communicator& comm, bool alive);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const SequenceReadout<T>& forward_;
    const Places& places_;
    bool gives_weights_;
    kernels::Buffer<T> dlogits_;                              // (out_dim)
    kernels::Buffer<T> normed_, dnormed_, saved_, mlp_, dy_;  // tiles of one column
    kernels::Buffer<T> dpooled_;                              // (C), a tile of one column
    kernels::Buffer<int64_t> largest_;  // (C): the tile of this rank that has it; < 0: none has
    kernels::Buffer<int64_t> ranks_;    // (C), flag
    kernels::LinearGradient layers_back_[2];
};

}  // namespace surrogate::impl::flare
