// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"

namespace surrogate::impl::flare {

/// Computes one prediction for a whole sequence: the mean or maximum of each channel over all
/// tokens, or the channels of the class token, followed by the head, which every rank computes.
/// Bitwise reproducible for any number of ranks and threads: tiles are summed in double, and their
/// sums are added as integers (ExactGrid), for channels that are bounded by a norm.
template <class T>
class SequenceReadout {
public:
    /// Keeps references: `config` and `layers` must outlive it.
    SequenceReadout(const Config& config, const Layers<T>& layers, const kernels::Queue& queue);

    /// Sets the masks of dropout, which the caller owns. Null, as at first: nothing is dropped.
    void set_dropout(const Dropout* dropout) { dropout_ = dropout; }

    /// Sets the number of tiles of this rank; n_tile_global, n_token: of all ranks. Local.
    void resize(int64_t n_tile, int64_t n_tile_global, int64_t n_token);

    /// Takes a tile of the last sweep, normed if there is a norm. Tiles of different threads may
    /// come at once.
    void take(int64_t tile, kernels::Tile<const T> x);
    /// Reads the tile of the class token, on the rank that has it.
    void take_class_token(kernels::Tile<const T> x);

    /// Pools the tokens of all ranks and computes the logits. Returns whether the numbers of all
    /// ranks were finite. Collective; does not allocate.
    bool run(Communicator& comm, bool poisoned);

    /// Returns the logits (out_dim), on every rank. NaN: the mean or the largest of no token.
    const T* logits() const { return logits_.data(); }

    // Results of the last run that backward reads.
    int64_t n_token() const { return n_token_; }
    kernels::Tile<const T> pooled() const {
        return {pooled_.data(), {n(), 1}, {kernels::lane_count, 1}};
    }
    /// Returns the input of the head: pooled() with dropped values.
    kernels::Tile<const T> head_input() const {
        return drops() ? kernels::Tile<const T>{dropped_.data(), {n(), 1}, {kernels::lane_count, 1}}
                       : pooled();
    }
    /// Computes y = mask * x of one column of C channels; does nothing if nothing is dropped and y
    /// is x.
    void drop(kernels::Tile<const T> x, kernels::Tile<T> y) const;
    /// Returns the first of this rank's tiles that has the largest of a channel; < 0: another rank
    /// has it.
    int64_t tile_of_largest(int64_t channel) const;

    int64_t bytes_sent() const;
    int64_t collectives() const { return 1; }
    int64_t bytes() const;

private:
    bool sum(Communicator& comm, bool poisoned);
    bool raise(Communicator& comm, bool poisoned);
    bool broadcast(Communicator& comm, bool poisoned);
    bool drops() const { return dropout_ && dropout_->drops(config_.sequence.cls_drop); }
    void predict();
    double bound(int64_t channel) const;
    int64_t n() const { return config_.channel_dim; }

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    const Dropout* dropout_ = nullptr;
    int64_t n_tile_ = 0, n_tile_global_ = 1, n_token_ = 0;
    kernels::Buffer<double> tiles_;                              // (n_tile, C): sums or maxima
    kernels::Buffer<int64_t> sums_;                              // (limbs, C), flag
    kernels::Buffer<double> maxima_;                             // (C), flag; or the class token
    kernels::Buffer<T> pooled_, dropped_, normed_, hidden_, y_;  // tiles of one column
    kernels::Buffer<T> logits_;                                  // (out_dim)
};

}  // namespace surrogate::impl::flare
