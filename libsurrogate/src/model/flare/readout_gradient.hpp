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
    /// Keeps references: all arguments must outlive it. gives_weights: this rank contributes the
    /// gradients of weights. Local.
    ReadoutGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                    const SequenceReadout<T>& forward, const Places& places, bool gives_weights);

    /// Returns the memory (out_dim) for dL / d logits, which the caller writes, the same on every
    /// rank.
    T* dlogits() { return dlogits_.data(); }

    /// Backpropagates through the head. Returns whether tokens have gradients: a rank is alive, and
    /// there are tokens to pool. Collective if the pooling takes the largest, otherwise local. Does
    /// not allocate.
    bool run(Communicator& comm, bool alive, GradientSums& sums);

    /// Writes dx of a tile that SequenceReadout::take() got as x.
    void give(int64_t tile, kernels::Tile<const T> x, kernels::Tile<T> dx) const;
    /// Writes dx of the class token, which is alone in its tile.
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
