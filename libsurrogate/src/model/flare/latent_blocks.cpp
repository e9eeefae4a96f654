// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/latent_blocks.hpp"

#include <cmath>
#include <numbers>

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::SoftmaxState;
using kernels::Tile;
using kernels::tile_points;

template <class T>
LatentBlocks<T>::LatentBlocks(const Config& config, const kernels::Queue& queue)
    : config_(config),
      queue_(queue),
      heads_{config.num_heads, config.head_dim(), config.head_dim()} {
    if (config.num_latent_blocks == 0) return;
    const int64_t channels = config.channel_dim, n_latent = config.num_latents;
    const int64_t n_tile = (n_latent + tile_points - 1) / tile_points;
    x_data_ = Buffer<T>(n_tile * channels * tile_points);
    qkv_data_ = Buffer<T>(n_tile * 3 * channels * tile_points);
    x_ = {x_data_.data(), channels, n_latent};
    qkv_ = {qkv_data_.data(), 3 * channels, n_latent};
    for (int thread = 0; thread < queue.n_thread(); ++thread) {
        scratch_.push_back({Buffer<T>(channels * tile_points), Buffer<T>(channels * tile_points),
                            Buffer<T>(8 * channels * tile_points), Buffer<T>(softmax_size())});
    }
}

template <class T>
int64_t LatentBlocks<T>::softmax_size() const {
    return SoftmaxState<T>::size(heads_) + kernels::attend_scratch(heads_);
}

template <class T>
double LatentBlocks<T>::query_scale() const {
    return std::numbers::log2e / std::sqrt(static_cast<double>(heads_.n_key_dim));
}

template <class T>
template <class Body>
void LatentBlocks<T>::for_tiles(const Body& body) {
    queue_.parallel_for(x_.n_tile(), [&](int64_t tile, int thread) {
        body(tile, scratch_[static_cast<size_t>(thread)]);
    });
}

template <class T>
Tile<T> LatentBlocks<T>::like(Tile<const T> tile, T* data, int64_t n_channel) const {
    return {data, {n_channel, tile.shape[1]}, tile.stride};
}

/// Queries, keys and values of a tile; queries times log2(e) / sqrt(D), as attend() wants them.
template <class T>
void LatentBlocks<T>::project(const LatentBlockWeights<T>& block, int64_t tile, Scratch& scratch) {
    const Tile<T> x = x_.tile(tile), qkv = qkv_.tile(tile);
    const Tile<T> normed = like(x, scratch.normed.data(), config_.channel_dim);
    kernels::normalise<T>(queue_, block.norm1, x, normed);
    kernels::linear<T>(queue_, block.qkv_proj, normed, {}, qkv);
    const T scale = static_cast<T>(query_scale());
    for (int64_t c = 0; c < config_.channel_dim; ++c)
        for (int64_t i = 0; i < x.shape[1]; ++i) qkv(c, i) *= scale;
}

template <class T>
SoftmaxState<T> LatentBlocks<T>::weigh(int64_t tile, T* memory) const {
    const int64_t n = config_.channel_dim;
    const SoftmaxState<T> state{heads_, memory};
    T* const room = memory + SoftmaxState<T>::size(heads_);
    reset(state);
    for (int64_t other = 0; other < qkv_.n_tile(); ++other) {
        const Tile<T> keys = qkv_.tile(other);
        kernels::attend<T>(queue_, heads_, channels(qkv_.tile(tile), 0, n), channels(keys, n, n),
                           channels(keys, 2 * n, n), T(1), {}, room, state);
    }
    return state;
}

template <class T>
void LatentBlocks<T>::attend(const LatentBlockWeights<T>& block, int64_t tile, Scratch& scratch) {
    const int64_t n = config_.channel_dim;
    const Tile<T> x = x_.tile(tile);
    const Tile<T> y = like(x, scratch.y.data(), n);
    kernels::finish<T>(queue_, weigh(tile, scratch.softmax.data()), y);
    kernels::linear<T>(queue_, block.out_proj, y, x, x);
    const Tile<T> normed = like(x, scratch.normed.data(), n);
    kernels::normalise<T>(queue_, block.norm2, x, normed);
    kernels::residual_mlp<T>(queue_, block.mlp.view(), normed, like(x, scratch.mlp.data(), 8 * n),
                             true, x);
}

template <class T>
void LatentBlocks<T>::project(const LatentBlockWeights<T>& block) {
    for_tiles([&](int64_t tile, Scratch& scratch) { project(block, tile, scratch); });
}

template <class T>
void LatentBlocks<T>::run(const LatentBlockWeights<T>& block) {
    project(block);
    for_tiles([&](int64_t tile, Scratch& scratch) { attend(block, tile, scratch); });
}

/// body(channel, latent, its place in z)
template <class T>
template <class Body>
void LatentBlocks<T>::for_each(const Body& body) const {
    const int64_t n_dim = heads_.n_key_dim, n_latent = config_.num_latents;
    for (int64_t h = 0; h < heads_.n_head; ++h)
        for (int64_t m = 0; m < n_latent; ++m)
            for (int64_t d = 0; d < n_dim; ++d)
                body(h * n_dim + d, m, (h * n_latent + m) * n_dim + d);
}

template <class T>
void LatentBlocks<T>::load(const T* z) {
    for_each([&](int64_t c, int64_t m, int64_t place) { x_(c, m) = z[place]; });
}

template <class T>
void LatentBlocks<T>::run(const BlockWeights<T>& block, T* z) {
    if (block.latent_blocks.empty()) return;
    load(z);
    for (const LatentBlockWeights<T>& latent_block : block.latent_blocks) run(latent_block);
    for_each([&](int64_t c, int64_t m, int64_t place) { z[place] = x_(c, m); });
}

template <class T>
double LatentBlocks<T>::flops() const {
    const auto n = static_cast<double>(config_.channel_dim);
    const auto m = static_cast<double>(config_.num_latents);
    // Four projections and a chain of width 4 C; scores and averages.
    return static_cast<double>(config_.num_latent_blocks) * (24 * m * n * n + 4 * m * m * n);
}

template <class T>
double LatentBlocks<T>::exponentials() const {
    const auto m = static_cast<double>(config_.num_latents);
    return static_cast<double>(config_.num_latent_blocks * heads_.n_head) * m * m;
}

template <class T>
int64_t LatentBlocks<T>::bytes() const {
    int64_t n_byte = x_data_.bytes() + qkv_data_.bytes();
    for (const Scratch& s : scratch_)
        n_byte += s.normed.bytes() + s.y.bytes() + s.mlp.bytes() + s.softmax.bytes();
    return n_byte;
}

template class LatentBlocks<float>;
template class LatentBlocks<double>;

}  // namespace surrogate::impl::flare
