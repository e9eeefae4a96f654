// SPDX-License-Identifier: Apache-2.0
// Backward through the branches of attention.
#include <algorithm>

#include "libsurrogate/src/model/bsa/layer_gradient.hpp"

namespace surrogate::impl::bsa {

using kernels::AttendGradient;
using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;
using kernels::bsa::KeyBlock;

template <class T>
void LayerGradient<T>::attention_backward(const LayerWeights<T>& w, bool rotated) {
    const auto for_pieces = [&](const auto& body) { queue_.parallel_for(shape_.n_piece(), body); };
    if (!config_.has_balls()) {
        for_pieces([&](int64_t piece, int thread) { attend_all(piece, thread); });
        return;
    }
    if (config_.is_sparse())
        for_pieces([&](int64_t piece, int thread) { split_branches(w, piece, thread); });
    for_pieces([&](int64_t piece, int thread) { attend_ball(w, rotated, piece, thread); });
    if (!config_.is_sparse()) return;
    if (config_.compresses_groups) {
        fill_zero(groups_.dq);
        queue_.parallel_for(groups_.q.n_tile(),
                            [&](int64_t tile, int thread) { sum_groups(tile, thread); });
    }
    queue_.parallel_for(config_.n_head, [&](int64_t head, int thread) { select(head, thread); });
    fill_zero(dcoarse_);
    const int64_t n_query = n_query_tile();
    queue_.parallel_for(n_query, [&](int64_t tile, int thread) { attend_coarse(tile, thread); });
    queue_.parallel_for(dcoarse_.n_tile(),
                        [&](int64_t tile, int thread) { sum_of_coarse(tile, thread); });
    // Tiles of slots may hold parts of a block: chunks of blocks consist of whole tiles.
    const int64_t at_once = std::max(tile_points, shape_.n_column / config_.block_size);
    const int64_t n_block = dcoarse_.n_point;
    queue_.parallel_for((n_block + at_once - 1) / at_once, [&](int64_t item, int thread) {
        const int64_t end = std::min((item + 1) * at_once, n_block);
        for (int64_t first = item * at_once; first < end; first += tile_points)
            expand(w, first, thread);
    });
}

/// Computes the gradients of the gates and of the branches from the gradient of the gated sum.
template <class T>
void LayerGradient<T>::split_branches(const LayerWeights<T>& w, int64_t piece, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    const int64_t c = config_.n_channel, n_head = config_.n_head;
    const GateRows rows{n_head};
    const Tile<T> dy = shape_.piece_of(forward_.work().y(), piece);
    const Tile<T> ordered = shape_.piece_of(forward_.work().gate(), piece);
    const Tile<T> dordered = shape_.piece_of(dgate_, piece);
    const Tile<T> gate = scratch_tile(s.gate, 3 * n_head, dy);
    const Tile<T> dgate = scratch_tile(s.dgate, 3 * n_head, dy);
    const auto copy_row = [&](const Tile<T>& from, int64_t i, const Tile<T>& to, int64_t j) {
        std::copy_n(&from(i, 0), dy.shape[1], &to(j, 0));
    };
    for (int64_t i = 0; i < 3 * n_head; ++i) copy_row(ordered, rows.row(i / 3, i % 3), gate, i);
    const Tile<T> given[] = {shape_.piece_of(out_.ball, piece),
                             shape_.piece_of(out_.compressed, piece),
                             shape_.piece_of(out_.selected, piece)};
    const Tile<T> dgiven[] = {scratch_tile(s.branch[0], c, dy), scratch_tile(s.branch[1], c, dy),
                              scratch_tile(s.branch[2], c, dy)};
    const Tile<const T> branches[] = {given[0], given[1], given[2]};
    kernels::bsa::combine_backward<T>(queue_, n_head, gate, branches, dy, dgiven, dgate);
    const Tiles<T> deltas[] = {delta_ball_, delta_compressed_, delta_selected_};
    for (size_t b = 0; b < 3; ++b) {
        kernels::attend_delta<T>(queue_, config_.heads(), given[b], dgiven[b],
                                 shape_.piece_of(deltas[b], piece));
        copy_tile(dgiven[b], given[b]);
    }
    for (int64_t i = 0; i < 3 * n_head; ++i) copy_row(dgate, i, dordered, rows.row(i / 3, i % 3));
    if (w.gates.weight) return;
    double* const sums = sums_[static_cast<size_t>(thread)].static_gates;
    for (int64_t row = 0; row < 3 * n_head; ++row)
        for (int64_t i = 0; i < dy.shape[1]; ++i) sums[row] += dordered(row, i);
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

template <class T>
AttendGradient<T> LayerGradient<T>::of_ball(int64_t piece) const {
    const Tiles<T> dy = config_.is_sparse() ? out_.ball : forward_.work().y();
    return {shape_.piece_of(q_, piece), shape_.piece_of(dy, piece),
            shape_.piece_of(out_.log_ball, piece), shape_.piece_of(delta_ball_, piece)};
}

template <class T>
void LayerGradient<T>::attend_ball(const LayerWeights<T>& w, bool rotated, int64_t piece,
                                   int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    const Tiles<const T> rel = forward_.plan().relative(rotated);
    const kernels::Heads heads = config_.heads();
    Workspace<T>& work = forward_.work();
    const int64_t n = shape_.ball / shape_.piece(), first = piece / n * n;
    const Tile<const T> own = shape_.piece_of(rel, piece);
    for (int64_t other = first; other < first + n; ++other) {
        // Rows belong to the other piece, lanes to this one: first keys, then queries.
        const Tile<T> distance{
            s.distance.data(), {shape_.piece(), shape_.piece()}, {tile_points, 1}};
        kernels::bsa::distances<T>(queue_, own, shape_.piece_of(rel, other), distance);
        const kernels::DistanceBias<T> bias{w.sigma.data(), distance};
        kernels::attend_backward_queries<T>(
            queue_, heads, of_ball(piece), shape_.piece_of(work.k(), other),
            shape_.piece_of(work.v(), other), bias, s.attend.data(), shape_.piece_of(dq_, piece),
            sums_[static_cast<size_t>(thread)].sigma);
        kernels::attend_backward_keys<T>(queue_, heads, of_ball(other),
                                         shape_.piece_of(work.k(), piece),
                                         shape_.piece_of(work.v(), piece), bias, s.attend.data(),
                                         shape_.piece_of(dk_, piece), shape_.piece_of(dv_, piece));
    }
}

/// Differentiates full attention for a piece, as queries and as keys.
template <class T>
void LayerGradient<T>::attend_all(int64_t piece, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    const kernels::Heads heads = config_.heads();
    Workspace<T>& work = forward_.work();
    for (int64_t other = 0; other < shape_.n_piece(); ++other) {
        kernels::attend_backward_queries<T>(queue_, heads, of_ball(piece),
                                            shape_.piece_of(work.k(), other),
                                            shape_.piece_of(work.v(), other), {}, s.attend.data(),
                                            shape_.piece_of(dq_, piece), nullptr);
        kernels::attend_backward_keys<T>(queue_, heads, of_ball(other),
                                         shape_.piece_of(work.k(), piece),
                                         shape_.piece_of(work.v(), piece), {}, s.attend.data(),
                                         shape_.piece_of(dk_, piece), shape_.piece_of(dv_, piece));
    }
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

template <class T>
void LayerGradient<T>::sum_of_coarse(int64_t tile, int thread) {
    const Coarse<T>& coarse = forward_.coarse();
    const int64_t c = config_.n_channel, first = tile * tile_points;
    const Tile<T> d = dcoarse_.tile(tile);
    const int64_t key_tile = first / Coarse<T>::key_blocks;
    const int64_t offset = first % Coarse<T>::key_blocks;
    const Tile<const T> k = kernels::points(coarse.keys(key_tile), offset, d.shape[1]);
    const Tile<const T> v = kernels::points(coarse.values(key_tile), offset, d.shape[1]);
    for (int64_t query = 0; query < n_query_tile(); ++query) {
        kernels::attend_backward_keys<T>(queue_, config_.heads(), of_compressed(query), k, v, {},
                                         scratch_[static_cast<size_t>(thread)].attend.data(),
                                         kernels::channels(d, 0, c), kernels::channels(d, c, c));
    }
}

/// Differentiates the selected branch of one head. Groups of all pieces are processed in order,
/// because they share blocks.
template <class T>
void LayerGradient<T>::select(int64_t head, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    Workspace<T>& work = forward_.work();
    const int64_t g = config_.group_size, k = work.n_choice(), l = config_.block_size;
    const int64_t n_group = std::max<int64_t>(1, shape_.piece() / g);
    const auto n_key = static_cast<size_t>(n_group * config_.n_head * k);
    for (int64_t piece = 0; piece < shape_.n_piece(); ++piece) {
        const int64_t first = piece * shape_.piece() / g;
        for (int64_t p = 0; p < n_group; ++p) {
            for (int64_t i = 0; i < k; ++i) {
                const int64_t block = work.chosen(first + p, head)[i];
                const int64_t to = (p * config_.n_head + head) * k + i;
                const int64_t channel = head * config_.head_dim() * dk_.row;
                s.keys[to] = forward_.fetch().block(head, block);
                s.dkeys[to] = {dk_.column(block * l) + channel, dv_.column(block * l) + channel,
                               dk_.row};
            }
        }
        const AttendGradient<T> of{
            shape_.piece_of(q_, piece), shape_.piece_of(out_.selected, piece),
            shape_.piece_of(out_.log_selected, piece), shape_.piece_of(delta_selected_, piece)};
        kernels::bsa::attend_blocks_backward<T>(
            queue_, config_.heads(), {head, head + 1}, of, {{s.keys.data(), n_key}, l, g, k},
            {s.dkeys.data(), n_key}, s.attend.data(), shape_.piece_of(dq_, piece));
    }
}

/// Computes the gradients of slots from the gradients of coarse keys and values (and queries).
template <class T>
void LayerGradient<T>::expand(const LayerWeights<T>& w, int64_t first, int thread) {
    const LayerSums& sums = sums_[static_cast<size_t>(thread)];
    const int64_t c = config_.n_channel;
    Workspace<T>& work = forward_.work();
    const Tile<T> d = dcoarse_.tile(first / tile_points);
    expand_field(w.k_coarse, work.k(), first, kernels::channels(d, 0, c), sums.k_coarse, dk_,
                 thread);
    expand_field(w.v_coarse, work.v(), first, kernels::channels(d, c, c), sums.v_coarse, dv_,
                 thread);
    if (config_.compresses_groups) {
        expand_field(w.q_coarse, q_, first, groups_.dq.tile(first / tile_points), sums.q_coarse,
                     dq_, thread);
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

template void LayerGradient<float>::attention_backward(const LayerWeights<float>&, bool);
template void LayerGradient<double>::attention_backward(const LayerWeights<double>&, bool);

}  // namespace surrogate::impl::bsa
