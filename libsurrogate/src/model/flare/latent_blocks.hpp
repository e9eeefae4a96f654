// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention/attention.hpp"
#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"

namespace surrogate::impl::flare {

/// Transformer blocks on the latents between encode and decode, with the heads' latents side by
/// side as channels (M, C):
///
///   z += out_proj(softmax(q k^T / sqrt(D)) v),   q, k, v = qkv_proj(norm1(z))
///   z += mlp(norm2(z))
///
/// All ranks compute them, as z is equal on all ranks. Bitwise reproducible for any number of
/// threads and on every vector level.
template <class T>
class LatentBlocks {
public:
    /// Keeps a reference: `config` must outlive it. Allocates only if the network has such blocks.
    LatentBlocks(const Config& config, const kernels::Queue& queue);

    /// Updates z (H, M, D) of one block in place; does nothing without latent blocks. Local.
    void run(const BlockWeights<T>& block, T* z);

    // Parts of a run, for backward: all of them local.
    kernels::Tiles<T> x() const { return x_; }      ///< (C): the latents
    kernels::Tiles<T> qkv() const { return qkv_; }  ///< (3 C), of the block projected last
    void load(const T* z);
    void run(const LatentBlockWeights<T>& block);
    void project(const LatentBlockWeights<T>& block);
    /// Computes the softmax of a tile of queries over all keys of qkv(). memory: softmax_size()
    /// elements.
    kernels::SoftmaxState<T> weigh(int64_t tile, T* memory) const;
    int64_t softmax_size() const;
    const kernels::Heads& heads() const { return heads_; }
    double query_scale() const;  ///< log2(e) / sqrt(D), in the queries of qkv()

    /// Returns the operations of one block of the network.
    double flops() const;
    double exponentials() const;
    int64_t bytes() const;

private:
    /// Memory of one thread, each a tile of the width named.
    struct Scratch {
        kernels::Buffer<T> normed, y, mlp;  // (C), (C), (2 * 4 C)
        kernels::Buffer<T> softmax;         // a state and its scratch
    };

    void project(const LatentBlockWeights<T>& block, int64_t tile, Scratch& scratch);
    void attend(const LatentBlockWeights<T>& block, int64_t tile, Scratch& scratch);
    template <class Body>
    void for_each(const Body& body) const;
    template <class Body>
    void for_tiles(const Body& body);
    kernels::Tile<T> like(kernels::Tile<const T> tile, T* data, int64_t n_channel) const;

    const Config& config_;
    kernels::Queue queue_;
    kernels::Heads heads_;
    kernels::Buffer<T> x_data_, qkv_data_;
    kernels::Tiles<T> x_, qkv_;     // (C), (3 C)
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::flare
