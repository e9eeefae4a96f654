// SPDX-License-Identifier: Apache-2.0
// Backward through the compressed branch of attention.
#include <algorithm>

#include "libsurrogate/src/model/bsa/layer_gradient.hpp"

namespace surrogate::impl::bsa {

using kernels::AttendGradient;
using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;

template <class T>
void LayerGradient<T>::compressed_backward(const LayerWeights<T>& w) {
    if (config_.compresses_groups) {
        fill_zero(groups_.dq);
        queue_.parallel_for(groups_.q.n_tile(),
                            [&](int64_t tile, int thread) { sum_groups(tile, thread); });
    }
    queue_.parallel_for(n_query_tile(),
                        [&](int64_t tile, int thread) { attend_coarse(tile, thread); });
    sum_of_coarse();
    // Tiles of slots may hold parts of a block: a thread takes blocks of whole tiles.
    const int64_t l = config_.block_size, n_block = dcoarse_.n_point;
    const int64_t at_once = is_reproducible_ ? std::max<int64_t>(1, shape_.ball / l)
                                             : std::max(tile_points, shape_.n_column / l);
    for_items((n_block + at_once - 1) / at_once, 1, LayerSums::coarse,
              [&](int64_t item, int thread) {
                  const int64_t end = std::min((item + 1) * at_once, n_block);
                  for (int64_t first = item * at_once; first < end; first += tile_points)
                      expand(w, {first, std::min(first + tile_points, end)}, thread);
              });
}

/// Adds up the gradients of the slots of a block, which share its compressed attention.
template <class T>
void LayerGradient<T>::sum_groups(int64_t tile, int thread) {
    const int64_t g = config_.group_size;
    const Tile<T> averages = groups_.dy.tile(tile);
    const Tile<T> sum =
        scratch_tile(scratch_[static_cast<size_t>(thread)].a, config_.n_channel, averages);
    for (int64_t c = 0; c < sum.shape[0]; ++c) {
        for (int64_t p = 0; p < sum.shape[1]; ++p) {
            T total = 0;
            for (int64_t t = 0; t < g; ++t)
                total += out_.compressed(c, (tile * tile_points + p) * g + t);
            sum(c, p) = total;
        }
    }
    kernels::attend_delta<T>(queue_, config_.heads(), averages, sum, groups_.delta.tile(tile));
    copy_tile(sum, averages);
}

/// Returns the number of tiles of queries of the compressed branch: pieces of slots, or groups.
template <class T>
int64_t LayerGradient<T>::n_query_tile() const {
    return config_.compresses_groups ? groups_.q.n_tile() : shape_.n_piece();
}

template <class T>
AttendGradient<T> LayerGradient<T>::of_compressed(int64_t tile) const {
    if (config_.compresses_groups) {
        return {groups_.q.tile(tile), groups_.dy.tile(tile), groups_.log_sum.tile(tile),
                groups_.delta.tile(tile)};
    }
    return {shape_.piece_of(q_, tile), shape_.piece_of(out_.compressed, tile),
            shape_.piece_of(out_.log_compressed, tile), shape_.piece_of(delta_compressed_, tile)};
}

template <class T>
void LayerGradient<T>::attend_coarse(int64_t tile, int thread) {
    const Coarse<T>& coarse = forward_.coarse();
    const Tile<T> dq =
        config_.compresses_groups ? groups_.dq.tile(tile) : shape_.piece_of(dq_, tile);
    for (int64_t keys = 0; keys < coarse.n_key_tile(); ++keys) {
        kernels::attend_backward_queries<T>(
            queue_, config_.heads(), of_compressed(tile), coarse.keys(keys), coarse.values(keys),
            {}, scratch_[static_cast<size_t>(thread)].attend.data(), dq, nullptr);
    }
}

/// Computes the gradients of the own coarse keys and values; queries of all ranks visit them.
template <class T>
void LayerGradient<T>::sum_of_coarse() {
    fill_zero(dcoarse_);
    visits_.run(
        queue_, queries_.slots, queries_.bytes(),
        [&](int64_t i, std::byte* to) {
            if (!config_.compresses_groups) return pack_queries(queries_, of_compressed(i), to);
            const int64_t first = i * queries_.n;
            const AttendGradient<T> all = of_compressed(first / tile_points);
            const auto some = [&](const Tile<const T>& field) {
                return kernels::points(field, first % tile_points, queries_.n);
            };
            pack_queries(queries_, {some(all.q), some(all.dy), some(all.log_sum), some(all.delta)},
                         to);
        },
        [&](std::byte* visitors, int64_t n) {
            queue_.parallel_for(dcoarse_.n_tile(), [&](int64_t tile, int thread) {
                add_of_coarse(tile, visitors, n, scratch_[static_cast<size_t>(thread)]);
            });
        });
}

template <class T>
void LayerGradient<T>::add_of_coarse(int64_t tile, std::byte* visitors, int64_t n_visitor,
                                     Scratch& s) {
    const Coarse<T>& coarse = forward_.coarse();
    const int64_t c = config_.n_channel;
    const Tile<T> d = dcoarse_.tile(tile);
    // Tiles of this rank's blocks may lie in two tiles of all blocks.
    const Tile<T> k = scratch_tile(s.blocks, c, d);
    const Tile<T> v{k.data + c * k.stride[0], k.shape, k.stride};
    const int64_t first = shape_.own.begin / config_.block_size + tile * tile_points;
    for (int64_t b = 0, n; b < d.shape[1]; b += n) {
        const int64_t offset = (first + b) % Coarse<T>::key_blocks;
        n = std::min(d.shape[1] - b, Coarse<T>::key_blocks - offset);
        const int64_t key_tile = (first + b) / Coarse<T>::key_blocks;
        copy_tile(kernels::points(coarse.keys(key_tile), offset, n), kernels::points(k, b, n));
        copy_tile(kernels::points(coarse.values(key_tile), offset, n), kernels::points(v, b, n));
    }
    for (int64_t i = 0; i < n_visitor; ++i) {
        kernels::attend_backward_keys<T>(
            queue_, config_.heads(), queries(queries_, visitors + i * queries_.bytes()), k, v, {},
            s.attend.data(), kernels::channels(d, 0, c), kernels::channels(d, c, c));
    }
}

/// Computes the gradients of slots from the gradients of coarse keys and values (and queries) of up
/// to tile_points blocks of this rank, in one tile.
template <class T>
void LayerGradient<T>::expand(const LayerWeights<T>& w, Range blocks, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    const LayerSums& sums = sums_[static_cast<size_t>(thread)];
    const int64_t c = config_.n_channel;
    Workspace<T>& work = forward_.work();
    const auto load = [&](const Tiles<T>& from, int64_t n_channel) {
        const Tile<T> to{s.blocks.data(), {n_channel, blocks.size()}, {tile_points, 1}};
        copy_padded(kernels::points(from.tile(blocks.begin / tile_points),
                                    blocks.begin % tile_points, blocks.size()),
                    to);
        return to;
    };
    const Tile<T> d = load(dcoarse_, 2 * c);
    expand_field(w.k_coarse, work.k(), blocks.begin, kernels::channels(d, 0, c), sums.k_coarse, dk_,
                 thread);
    expand_field(w.v_coarse, work.v(), blocks.begin, kernels::channels(d, c, c), sums.v_coarse, dv_,
                 thread);
    if (config_.compresses_groups) {
        expand_field(w.q_coarse, q_, blocks.begin, load(groups_.dq, c), sums.q_coarse, dq_, thread);
    }
}

template <class T>
void LayerGradient<T>::expand_field(const CoarseMlp<T>& mlp, Tiles<const T> x, int64_t first,
                                    Tile<const T> dy,
                                    const std::array<kernels::LinearGradient, 2>& sums, Tiles<T> dx,
                                    int thread) {
    const int64_t l = config_.block_size, d = config_.head_dim(), n = dy.shape[1];
    if (mlp.layers.empty()) {
        kernels::bsa::block_means_backward<T>(queue_, l, dy, first, dx);
        return;
    }
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    const auto tile = [n](Buffer<T>& buffer, int64_t n_channel) {
        return Tile<T>{buffer.data(), {n_channel, n}, {tile_points, 1}};
    };
    const Tile<T> folded = tile(s.folded, l * d), dfolded = tile(s.dfolded, l * d);
    const Tile<T> saved = tile(s.coarse, 2 * config_.n_coarse_hidden);
    for (int64_t head = 0; head < config_.n_head; ++head) {
        kernels::bsa::fold_blocks<T>(queue_, l, d, head, x, first, folded);
        kernels::residual_mlp_forward<T>(queue_, mlp.view(), folded, saved, false, tile(s.a, d));
        kernels::residual_mlp_backward<T>(
            queue_, mlp.view(), folded, saved, kernels::channels(dy, head * d, d), sums,
            tile(s.dcoarse, 2 * config_.n_coarse_hidden), false, dfolded);
        kernels::bsa::fold_blocks_backward<T>(queue_, l, d, head, dfolded, first, dx);
    }
}

template void LayerGradient<float>::compressed_backward(const LayerWeights<float>&);
template void LayerGradient<double>::compressed_backward(const LayerWeights<double>&);

}  // namespace surrogate::impl::bsa
