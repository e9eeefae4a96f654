// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"
#include "kernels/flare/flare.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/weights.hpp"

namespace surrogate::impl::flare {

/// The local points of a FLARE run and one pass of them through the network. A forward pass takes
/// num_blocks + 1 sweeps; sweep s does, for one tile at a time and all of it in cache,
///   s = 0:  x = in_proj(input)                         s > 0:  x += out_proj(decode(k, z)); x +=
///           ffn(norm2(x))
///   s < num_blocks:  k, v = projections of norm1(x); encode(k, v)       else:  output =
///                    out_proj(norm(x))
/// with block s - 1 before and block s after the border. Only x and k live between sweeps: 8 C
/// bytes a point.
template <class T>
class Sweep {
public:
    Sweep(const Config& config, const Weights<T>& weights, const kernels::Queue& queue,
          int64_t n_point);

    int64_t n_point() const { return n_point_; }
    int64_t n_tile() const { return n_tile_; }

    /// Tiles (n_channel, points of the tile) of inputs and outputs; padding is zero.
    kernels::Tile<T> input(int64_t tile) { return tile_of(input_, tile, config_.in_dim); }
    kernels::Tile<T> output(int64_t tile) { return tile_of(output_, tile, config_.out_dim); }

    /// One tile of sweep s. z (H, M, D) of block s - 1, unused in sweep 0; partial takes the
    /// encoding of block s, unused in the last sweep. v_max (H), if not null, is raised to the
    /// largest |v| of each head. thread: whose scratch is used; tiles of different threads may run
    /// at once.
    void run(int64_t s, int64_t tile, int thread, const T* z, kernels::flare::Partial<T> partial,
             T* v_max);

    int64_t bytes() const;

private:
    /// Buffers of one thread, each a tile of the width named.
    struct Scratch {
        kernels::Buffer<T> normed, v, y;  // (C)
        kernels::Buffer<T> mlp;           // (2 * widest hidden layer)
    };

    kernels::Tile<T> tile_of(kernels::Buffer<T>& buffer, int64_t tile, int64_t n_channel) {
        return view_of(buffer.data() + tile * n_channel * kernels::tile_points, tile, n_channel);
    }
    kernels::Tile<T> view_of(T* data, int64_t tile, int64_t n_channel) const {
        const int64_t n = std::min(kernels::tile_points, n_point_ - tile * kernels::tile_points);
        return {data, {n_channel, n}, {kernels::tile_points, 1}};
    }
    void mlp(const MlpWeights<T>& weights, kernels::Tile<const T> x, Scratch& scratch,
             bool accumulate, kernels::Tile<T> y);
    void finish_block(const BlockWeights<T>& block, int64_t tile, Scratch& scratch, const T* z);
    void start_block(const BlockWeights<T>& block, int64_t tile, Scratch& scratch,
                     kernels::flare::Partial<T> partial, T* v_max);

    const Config& config_;
    const Weights<T>& weights_;
    kernels::Queue queue_;
    int64_t n_point_, n_tile_;
    kernels::Buffer<T> input_, output_, x_, k_;  // (n_tile, channels, tile_points)
    std::vector<Scratch> scratch_;               // (n_thread)
};

}  // namespace surrogate::impl::flare
