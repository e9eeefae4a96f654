// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/tiles.hpp"
#include "kernels/flare/gradient.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/model/flare/gradient_places.hpp"
#include "libsurrogate/src/model/flare/latent_blocks.hpp"

namespace surrogate::impl::flare {

/// Runs the backward pass through the latent blocks of a block. As in forward, all ranks compute
/// the same; only one rank contributes the gradients of weights. During the backward pass of a
/// block, the latents before every latent block are stored; the rest is recomputed. A tile of
/// latents is a chunk of GradientSums, and no sum over tiles depends on the order of threads.
/// Bitwise reproducible for any number of ranks and threads.
template <class T>
class LatentGradient {
public:
    /// Keeps references: all arguments must outlive it. Allocates only if the network has latent
    /// blocks. gives_weights: this rank contributes the gradients of weights. Local.
    LatentGradient(const Config& config, LatentBlocks<T>& forward, const kernels::Queue& queue,
                   bool gives_weights);

    /// Transforms dz (H, D, n_row) of one block in place, from behind its latent blocks to in front
    /// of them; encoded (H, M, D) are the latents in front. Does nothing without latent blocks.
    /// Returns whether dz is finite. Local.
    bool run(const BlockWeights<T>& block, const BlockPlaces& places, const T* encoded,
             kernels::flare::LatentSums<T> dz, GradientSums& sums);

    int64_t bytes() const;

private:
    /// Memory of one thread, each a tile of the width named.
    struct Scratch {
        kernels::Buffer<T> normed, dnormed, mid, y;  // (C)
        kernels::Buffer<T> saved, hidden;            // (2 * 4 C)
        kernels::Buffer<T> softmax;
        kernels::LinearGradient layers[2];
    };

    kernels::Tile<T> like(kernels::Tile<const T> tile, kernels::Buffer<T>& data,
                          int64_t n_channel) const {
        return {data.data(), {n_channel, tile.shape[1]}, tile.stride};
    }
    kernels::Tiles<T> kept(size_t j) {
        return {kept_[j].data(), config_.channel_dim, config_.num_latents};
    }
    void back(const LatentBlockWeights<T>& block, const LatentBlockPlaces& places,
              kernels::Tiles<T> x, GradientSums& sums);
    void feed_forward_back(const LatentBlockWeights<T>& block, const LatentBlockPlaces& places,
                           kernels::Tile<T> x, int64_t tile, Scratch& scratch, double* arena);
    void slope_queries(int64_t tile, Scratch& scratch);
    void slope_keys(int64_t tile, Scratch& scratch);
    void project_back(const LatentBlockWeights<T>& block, const LatentBlockPlaces& places,
                      kernels::Tile<T> x, int64_t tile, Scratch& scratch, double* arena);
    kernels::AttendGradient<T> of_queries(int64_t tile) const;
    template <class Body>
    void for_tiles(const LatentBlockPlaces& places, GradientSums& sums, const Body& body);

    const Config& config_;
    LatentBlocks<T>& forward_;
    kernels::Queue queue_;
    bool gives_weights_;
    std::vector<kernels::Buffer<T>> kept_;  // (num_latent_blocks): latents in front
    kernels::Buffer<T> dx_data_, dy_data_, dqkv_data_, row_sums_data_;
    kernels::Tiles<T> dx_, dy_, dqkv_;  // (C), (C), (3 C)
    kernels::Tiles<T> row_sums_;        // (2 H): logarithms of sums, and delta
    std::vector<Scratch> scratch_;      // (n_thread)
};

}  // namespace surrogate::impl::flare
