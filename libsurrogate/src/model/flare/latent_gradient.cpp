// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/latent_gradient.hpp"

#include <algorithm>
#include <cmath>

namespace surrogate::impl::flare {

using kernels::AttendGradient;
using kernels::Buffer;
using kernels::SoftmaxState;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;

template <class T>
LatentGradient<T>::LatentGradient(const Config& config, LatentBlocks<T>& forward,
                                  const kernels::Queue& queue, bool gives_weights)
    : config_(config), forward_(forward), queue_(queue), gives_weights_(gives_weights) {
    if (config.num_latent_blocks == 0) return;
    const int64_t n = config.channel_dim, n_latent = config.num_latents, n_head = config.num_heads;
    const auto tiles = [&](Buffer<T>& data, int64_t n_channel) {
        const int64_t n_tile = (n_latent + tile_points - 1) / tile_points;
        data = Buffer<T>(n_tile * n_channel * tile_points);
        return Tiles<T>{data.data(), n_channel, n_latent};
    };
    kept_.resize(static_cast<size_t>(config.num_latent_blocks));
    for (Buffer<T>& kept : kept_) tiles(kept, n);
    dx_ = tiles(dx_data_, n);
    dy_ = tiles(dy_data_, n);
    dqkv_ = tiles(dqkv_data_, 3 * n);
    row_sums_ = tiles(row_sums_data_, 2 * n_head);
    const auto tile = [](int64_t n_channel) { return Buffer<T>(n_channel * tile_points); };
    for (int thread = 0; thread < queue.n_thread(); ++thread) {
        scratch_.push_back({tile(n),
                            tile(n),
                            tile(n),
                            tile(n),
                            tile(8 * n),
                            tile(8 * n),
                            Buffer<T>(forward.softmax_size()),
                            {}});
    }
}

/// body(tile, scratch, arena). What a tile has added is handed over, or forgotten where another
/// rank gives the same.
template <class T>
template <class Body>
void LatentGradient<T>::for_tiles(const LatentBlockPlaces& places, GradientSums& sums,
                                  const Body& body) {
    queue_.parallel_for(dx_.n_tile(), [&](int64_t tile, int thread) {
        double* const arena = sums.open(thread).data();
        body(tile, scratch_[static_cast<size_t>(thread)], arena);
        for (const PlaceRange& range : places.written) {
            if (gives_weights_) {
                sums.close(thread, range.begin, range.end);
            } else if (arena) {
                std::fill(arena + range.begin, arena + range.end, 0.0);
            }
        }
    });
}

template <class T>
AttendGradient<T> LatentGradient<T>::of_queries(int64_t tile) const {
    const Tile<T> rows = row_sums_.tile(tile);
    const int64_t n_head = config_.num_heads;
    return {channels(forward_.qkv().tile(tile), 0, config_.channel_dim), dy_.tile(tile),
            channels(rows, 0, n_head), channels(rows, n_head, n_head)};
}

/// Backpropagates from the output of a latent block to its averages. On return, dx_ is the gradient
/// of the values between attention and MLP, and dy_ is the gradient of the averages.
template <class T>
void LatentGradient<T>::feed_forward_back(const LatentBlockWeights<T>& block,
                                          const LatentBlockPlaces& places, Tile<T> x, int64_t tile,
                                          Scratch& scratch, double* arena) {
    const int64_t n = config_.channel_dim, n_head = config_.num_heads;
    const Tile<T> dx = dx_.tile(tile), dy = dy_.tile(tile), rows = row_sums_.tile(tile);
    const Tile<T> y = like(x, scratch.y, n), mid = like(x, scratch.mid, n);
    const Tile<T> normed = like(x, scratch.normed, n), dnormed = like(x, scratch.dnormed, n);
    const Tile<T> saved = like(x, scratch.saved, 8 * n), hidden = like(x, scratch.hidden, 8 * n);
    const SoftmaxState<T> state = forward_.weigh(tile, scratch.softmax.data());
    kernels::finish<T>(queue_, state, y);
    kernels::log_sums<T>(queue_, state, channels(rows, 0, n_head));
    kernels::linear<T>(queue_, block.out_proj, y, x, mid);
    kernels::normalise<T>(queue_, block.norm2, mid, normed);
    const kernels::ResidualMlp<T> mlp = block.mlp.view();
    kernels::residual_mlp_forward<T>(queue_, mlp, normed, saved, false, dnormed);
    kernels::residual_mlp_backward<T>(queue_, mlp, normed, saved, dx,
                                      places.mlp.in(arena, scratch.layers), hidden, false, dnormed);
    kernels::normalise_backward<T>(queue_, block.norm2, mid, dnormed, dx, dx,
                                   places.norm2.in(arena));
    kernels::linear_backward<T>(queue_, block.out_proj, dx, {}, false, dy);
    kernels::linear_gradient<T>(queue_, y, dx, places.out_proj.in(arena));
    kernels::attend_delta<T>(queue_, forward_.heads(), y, dy, channels(rows, n_head, n_head));
}

namespace {

template <class T>
void clear(Tile<T> tile) {
    for (int64_t c = 0; c < tile.shape[0]; ++c) std::fill_n(&tile(c, 0), tile.stride[0], T(0));
}

}  // namespace

template <class T>
void LatentGradient<T>::slope_queries(int64_t tile, Scratch& scratch) {
    const int64_t n = config_.channel_dim;
    const Tile<T> dq = channels(dqkv_.tile(tile), 0, n);
    clear(dq);
    for (int64_t other = 0; other < dqkv_.n_tile(); ++other) {
        const Tile<T> keys = forward_.qkv().tile(other);
        kernels::attend_backward_queries<T>(queue_, forward_.heads(), of_queries(tile),
                                            channels(keys, n, n), channels(keys, 2 * n, n), {},
                                            scratch.softmax.data(), dq, nullptr);
    }
    const T scale = static_cast<T>(forward_.query_scale());
    for (int64_t c = 0; c < n; ++c)
        for (int64_t i = 0; i < dq.shape[1]; ++i) dq(c, i) *= scale;
}

template <class T>
void LatentGradient<T>::slope_keys(int64_t tile, Scratch& scratch) {
    const int64_t n = config_.channel_dim;
    const Tile<T> keys = forward_.qkv().tile(tile), slopes = dqkv_.tile(tile);
    const Tile<T> dk = channels(slopes, n, n), dv = channels(slopes, 2 * n, n);
    clear(dk);
    clear(dv);
    for (int64_t other = 0; other < dqkv_.n_tile(); ++other) {
        kernels::attend_backward_keys<T>(queue_, forward_.heads(), of_queries(other),
                                         channels(keys, n, n), channels(keys, 2 * n, n), {},
                                         scratch.softmax.data(), dk, dv);
    }
}

/// From queries, keys and values to what is in front: dx_.
template <class T>
void LatentGradient<T>::project_back(const LatentBlockWeights<T>& block,
                                     const LatentBlockPlaces& places, Tile<T> x, int64_t tile,
                                     Scratch& scratch, double* arena) {
    const int64_t n = config_.channel_dim;
    const Tile<T> dx = dx_.tile(tile), dqkv = dqkv_.tile(tile);
    const Tile<T> normed = like(x, scratch.normed, n), dnormed = like(x, scratch.dnormed, n);
    kernels::normalise<T>(queue_, block.norm1, x, normed);
    kernels::linear_gradient<T>(queue_, normed, dqkv, places.qkv_proj.in(arena));
    kernels::linear_backward<T>(queue_, block.qkv_proj, dqkv, {}, false, dnormed);
    kernels::normalise_backward<T>(queue_, block.norm1, x, dnormed, dx, dx, places.norm1.in(arena));
}

template <class T>
void LatentGradient<T>::back(const LatentBlockWeights<T>& block, const LatentBlockPlaces& places,
                             Tiles<T> x, GradientSums& sums) {
    for_tiles(places, sums, [&](int64_t tile, Scratch& scratch, double* arena) {
        feed_forward_back(block, places, x.tile(tile), tile, scratch, arena);
    });
    for_tiles(places, sums, [&](int64_t tile, Scratch& scratch, double* arena) {
        slope_queries(tile, scratch);
        slope_keys(tile, scratch);
        project_back(block, places, x.tile(tile), tile, scratch, arena);
    });
}

template <class T>
bool LatentGradient<T>::run(const BlockWeights<T>& block, const BlockPlaces& places,
                            const T* encoded, kernels::flare::LatentSums<T> dz,
                            GradientSums& sums) {
    if (block.latent_blocks.empty()) return true;
    const size_t n_block = block.latent_blocks.size();
    forward_.load(encoded);
    for (size_t j = 0; j < n_block; ++j) {
        std::copy_n(forward_.x().data, kept_[j].size(), kept_[j].data());
        if (j + 1 < n_block) forward_.run(block.latent_blocks[j]);
    }
    const auto for_each = [&](const auto& body) {  // body(dx of a latent's channel, dz of it)
        for (int64_t c = 0; c < config_.channel_dim; ++c)
            for (int64_t m = 0; m < config_.num_latents; ++m)
                body(dx_(c, m), dz.data[c * dz.sizes.n_row() + m]);
    };
    for_each([](T& dx, const T& of_latent) { dx = of_latent; });
    for (size_t j = n_block; j-- > 0;) {
        std::copy_n(kept_[j].data(), kept_[j].size(), forward_.x().data);
        forward_.project(block.latent_blocks[j]);
        back(block.latent_blocks[j], places.latent_blocks[j], kept(j), sums);
    }
    bool is_finite = true;
    for_each([&](const T& dx, T& of_latent) {
        of_latent = dx;
        is_finite &= std::isfinite(dx);
    });
    return is_finite;
}

template <class T>
int64_t LatentGradient<T>::bytes() const {
    int64_t n_byte =
        dx_data_.bytes() + dy_data_.bytes() + dqkv_data_.bytes() + row_sums_data_.bytes();
    for (const Buffer<T>& kept : kept_) n_byte += kept.bytes();
    for (const Scratch& s : scratch_) {
        for (const Buffer<T>* buffer :
             {&s.normed, &s.dnormed, &s.mid, &s.y, &s.saved, &s.hidden, &s.softmax})
            n_byte += buffer->bytes();
    }
    return n_byte;
}

template class LatentGradient<float>;
template class LatentGradient<double>;

}  // namespace surrogate::impl::flare
