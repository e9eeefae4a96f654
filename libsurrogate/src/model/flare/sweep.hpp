// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"
#include "kernels/flare/flare.hpp"
#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/flare/attention_dropout.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"
#include "libsurrogate/src/model/flare/sequence.hpp"
#include "libsurrogate/src/model/flare/sequence_readout.hpp"
#include "libsurrogate/src/model/flare/streams.hpp"

namespace surrogate::impl::flare {

/// One pass of the local points of a FLARE run through the network. A forward pass takes
/// num_blocks + 1 sweeps. Sweep s finishes block s - 1 and starts block s, for one tile at a time
/// and all of it in cache:
///
///   first      s = 0                x  = in_proj(input)
///              s > 0                x += out_proj(decode(k, z))
///                                   x += ffn(norm2(x))
///   and then   s < num_blocks       k, v = projections of norm1(x)
///                                   encode(k, v)
///              s = num_blocks       output = out_proj(norm(x))
///
/// What lives between sweeps: see Streams. What a sequence does besides: see Sequence.
template <class T>
class Sweep {
public:
    /// Parts of a sequence; null: points are not a sequence. readout: null if tokens have outputs
    /// of their own.
    struct OfSequence {
        Sequence<T>* tokens = nullptr;
        SequenceReadout<T>* readout = nullptr;
    };

    /// Reads and writes the tiles of `ports`, or the tiles of the sequence. All arguments must
    /// outlive the object.
    Sweep(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
          PointPorts<T>& ports, const OfSequence& sequence = {}, Keeps keeps = Keeps::nothing);

    /// Takes over the number of points of the ports. Takes memory for more than ever before.
    void resize();
    /// Takes over tiles that share memory; see Streams::resize.
    void resize(int64_t n_slot, std::span<const int64_t> slots);
    /// Sets the weights of the points in encode, from PointWeights::tiles(); null: none. They must
    /// outlive the object.
    void weigh(const T* log_weights) { log_weights_ = log_weights; }
    /// Sets the dropout of points, not of a sequence. Before the first call nothing is dropped.
    void set_dropout(const AttentionDropout& dropout) { dropout_ = dropout; }

    /// Computes one tile of sweep s. z (H, M, D) of block s - 1, unused in sweep 0; partial
    /// receives the encoding of block s, unused in the last sweep. v_max (H), if not null, is
    /// raised to the largest |v| of each head. thread: selects the scratch; tiles of different
    /// threads may run at once.
    void run(int64_t s, int64_t tile, int thread, const T* z, kernels::flare::Partial<T> partial,
             T* v_max);

    // Stages of run(), for a caller that decodes and encodes the points of a tile in parts. Sweep s
    // is enter() or finish_block(s - 1), and then project(s) or leave().
    void enter(int64_t tile, int thread);
    void finish_block(int64_t i, int64_t tile, int thread);  ///< after decoding into decoded()
    void project(int64_t i, int64_t tile, int thread);       ///< into keys() and values()
    void leave(int64_t tile, int thread);
    kernels::Tile<T> keys(int64_t i, int64_t tile) { return view_of(streams_.k(i, tile), tile); }
    kernels::Tile<T> values(int64_t tile, int thread) {
        return view_of(scratch(thread).v.data(), tile);
    }
    kernels::Tile<T> decoded(int64_t tile, int thread) {
        return view_of(scratch(thread).y.data(), tile);
    }

    Streams<T>& streams() { return streams_; }
    int64_t bytes() const;
    int64_t kept_bytes() const { return streams_.bytes(); }

private:
    /// Buffers of one thread, each a tile of the width named.
    struct Scratch {
        kernels::Buffer<T> normed, v, y;  // (C)
        kernels::Buffer<T> mlp;           // (2 * widest hidden layer)
    };

    /// Returns a tile of C channels.
    kernels::Tile<T> view_of(T* data, int64_t tile) const {
        const int64_t n =
            sequence_.tokens ? sequence_.tokens->n_in_tile(tile) : ports_.n_in_tile(tile);
        return {data, {config_.channel_dim, n}, {kernels::tile_points, 1}};
    }
    void mlp(const MlpWeights<T>& weights, kernels::Tile<const T> x, Scratch& scratch,
             bool accumulate, kernels::Tile<T> y);
    AttentionDropout attention_dropout() const {
        return sequence_.tokens ? sequence_.tokens->attention_dropout() : dropout_;
    }
    void add_time(kernels::Tile<const T> time, Scratch& scratch, int64_t tile, kernels::Tile<T> x);
    void decode(int64_t i, int64_t tile, int thread, const T* z);
    void encode(int64_t i, int64_t tile, int thread, kernels::flare::Partial<T> partial, T* v_max);
    void encode(const BlockWeights<T>& block, int64_t tile, Scratch& scratch,
                kernels::Tile<const T> k, kernels::Tile<const T> v,
                kernels::flare::Partial<T> partial, T* v_max);
    void encode_weighted(const BlockWeights<T>& block, int64_t tile, Scratch& scratch,
                         kernels::Tile<const T> k, kernels::Tile<const T> v,
                         kernels::flare::Partial<T> partial, T* v_max);

    Scratch& scratch(int thread) { return scratch_[static_cast<size_t>(thread)]; }

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    PointPorts<T>& ports_;
    OfSequence sequence_;
    const T* log_weights_ = nullptr;
    AttentionDropout dropout_;
    Streams<T> streams_;
    std::vector<Scratch> scratch_;  // (n_thread)
};

/// Raises v_max (H) to the largest |v| of each head of a tile.
template <class T>
void raise_maxima(kernels::Tile<const T> v, int64_t n_head, T* v_max);

}  // namespace surrogate::impl::flare
