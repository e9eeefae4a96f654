// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"
#include "kernels/flare/gradient.hpp"
#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/flare/attention_dropout.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/gradient_places.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"
#include "libsurrogate/src/model/flare/readout_gradient.hpp"
#include "libsurrogate/src/model/flare/sequence.hpp"
#include "libsurrogate/src/model/flare/streams.hpp"

namespace surrogate::impl::flare {

/// Backpropagates the local points through a part of the network. Backward takes num_blocks + 1
/// sweeps, s = num_blocks .. 0, for one tile at a time. Sweep s ends with what is before block s,
/// and begins block s - 1 from behind; dx is the gradient of the stream.
///
///   first      s = num_blocks       dx  = (output of the network)^T doutput
///              s < num_blocks       dk, dv, dq = mix_backward(k, v, dy)       attention of block s
///                                   dx += norm1^T (k_proj^T dk + v_proj^T dv)
///   and then   s > 0                dx += norm2^T ffn^T dx                    ffn of block s - 1
///                                   dy  = out_proj^T dx
///                                   dz  = decode_backward(k, z, dy)
///              s = 0                dinput = in_proj^T dx
///
/// For the additional steps of a sequence, see Sequence and ReadoutGradient.
///
/// In float, 12 H bytes per point are kept between sweeps in addition to the data stored by the
/// forward pass. dx and dy overwrite streams that are no longer needed, so one forward pass allows
/// one backward pass.
template <class T>
class GradientSweep {
public:
    /// Parts of a sequence; null: points are not a sequence. readout: null if tokens have outputs
    /// of their own.
    struct OfSequence {
        const Sequence<T>* tokens = nullptr;
        const ReadoutGradient<T>* readout = nullptr;
    };

    /// Keeps references: all arguments must outlive it. The inputs of `back` are the gradients of
    /// the outputs of `ports`; its outputs are the gradients of the inputs of `ports`.
    GradientSweep(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                  PointPorts<T>& ports, PointPorts<T>& back, const OfSequence& sequence,
                  Streams<T>& streams, const Places& places);

    /// Takes over the number of points of the ports. Takes memory for more than ever before.
    void resize();
    /// Sets the weights of the points, as Sweep::weigh().
    void weigh(const T* log_weights) { log_weights_ = log_weights; }
    /// Sets the dropout of points, as Sweep::set_dropout().
    void set_dropout(const AttentionDropout& dropout) { dropout_ = dropout; }

    /// Data of the latents in a sweep, and the destination of its sums over points.
    struct Latents {
        kernels::flare::LatentSide<T> of_block = {};  ///< s, with dz complete; unused in the first
        const T* z_before = nullptr;                  ///< of block s - 1; unused in the last
        kernels::flare::LatentSums<T> dq, dz;         ///< of block s, of block s - 1
        bool wants_inputs = false;
    };
    /// Computes one tile of sweep s. arena: gradients of weights are added. thread: selects the
    /// scratch; tiles of different threads may run at once.
    void run(int64_t s, int64_t tile, int thread, const Latents& latents, double* arena);

    int64_t bytes() const;

private:
    /// Buffers of one thread, each a tile of the width named.
    struct Scratch {
        kernels::Buffer<T> normed, dnormed, dk, dv;  // (C)
        kernels::Buffer<T> y;                        // (C or more)
        kernels::Buffer<T> saved, mlp;               // of the largest MLP
        kernels::Buffer<T> visible;                  // (3 C + point_rows H), of a sequence
        std::vector<kernels::LinearGradient> layers;
    };

    kernels::Tile<T> view_of(T* data, int64_t tile, int64_t n_channel) {
        const int64_t n =
            sequence_.tokens ? sequence_.tokens->n_in_tile(tile) : ports_.input(tile).shape[1];
        return {data, {n_channel, n}, {kernels::tile_points, 1}};
    }
    int64_t n_tile() const {
        return sequence_.tokens ? sequence_.tokens->n_tile() : ports_.n_tile();
    }
    kernels::Tile<T> view_of(T* data, int64_t tile) {
        return view_of(data, tile, config_.channel_dim);
    }
    kernels::Tile<T> dx_of(int64_t tile) {
        return view_of(streams_.x(config_.num_blocks, tile), tile);
    }
    kernels::Tile<T> of_points(int64_t tile) {
        const int64_t n_row = kernels::flare::point_rows * config_.num_heads;
        return view_of(of_points_.data() + tile * n_row * kernels::tile_points, tile, n_row);
    }
    kernels::Tile<T> forward(const MlpWeights<T>& weights, kernels::Tile<const T> x, int64_t tile,
                             Scratch& scratch);
    void backward(const MlpWeights<T>& weights, const MlpPlace& place, kernels::Tile<const T> x,
                  kernels::Tile<const T> dy, int64_t tile, Scratch& scratch, double* arena,
                  bool accumulate, kernels::Tile<T> dx);
    AttentionDropout attention_dropout() const {
        return sequence_.tokens ? sequence_.tokens->attention_dropout() : dropout_;
    }
    void leave(int64_t tile, Scratch& scratch, double* arena);
    void leave_sequence(int64_t tile, Scratch& scratch, double* arena);
    void mix_back(const BlockWeights<T>& block, int64_t tile, Scratch& scratch,
                  const Latents& latents, kernels::Tile<const T> k, kernels::Tile<const T> v,
                  kernels::Tile<const T> dy);
    void compute_again(int64_t block, int64_t tile, Scratch& scratch, const T* z);
    void finish_block(int64_t block, int64_t tile, Scratch& scratch, const T* z,
                      kernels::flare::LatentSums<T> dz, double* arena);
    void start_block(int64_t block, int64_t tile, Scratch& scratch, const Latents& latents,
                     double* arena);
    void heads_backward(int64_t block, int64_t tile, Scratch& scratch,
                        kernels::Tile<const T> normed, double* arena, kernels::Tile<T> dnormed);
    void enter(int64_t tile, Scratch& scratch, bool wants_inputs, double* arena);
    void time_backward(int64_t tile, Scratch& scratch, double* arena, kernels::Tile<T> dtime);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    PointPorts<T>&ports_, &back_;
    OfSequence sequence_;
    Streams<T>& streams_;
    const Places& places_;
    const T* log_weights_ = nullptr;
    AttentionDropout dropout_;
    kernels::Buffer<T> of_points_;  // (n_tile, point_rows * H, tile_points)
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::flare
