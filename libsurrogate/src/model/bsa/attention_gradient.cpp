// SPDX-License-Identifier: Apache-2.0
// Backward through the branches of attention.
#include <algorithm>
#include <numbers>
#include <type_traits>

#include "libsurrogate/src/model/bsa/layer_gradient.hpp"

namespace surrogate::impl::bsa {

using kernels::AttendGradient;
using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;
using kernels::bsa::KeyBlock;

namespace {

/// Copies a tile to one with at least as many columns; their rest becomes zero.
template <class T>
void copy_padded(const std::type_identity_t<Tile<const T>>& from, const Tile<T>& to) {
    for (int64_t c = 0; c < from.shape[0]; ++c)
        std::fill(std::copy_n(&from(c, 0), from.shape[1], &to(c, 0)), &to(c, 0) + to.stride[0],
                  T(0));
}

/// Adds to da (d, n) the gradients of the distances between own positions a and others b; equal
/// positions have none. Replaces the slopes.
template <class T>
void distances_backward(const kernels::DistanceBias<T>& bias, Tile<const T> a, Tile<const T> b,
                        Tile<T> da) {
    for (int64_t j = 0; j < b.shape[1]; ++j) {
        for (int64_t i = 0; i < a.shape[1]; ++i) {
            const T distance = bias.distance(j, i);
            bias.slope(j, i) =
                distance > 0 ? std::numbers::ln2_v<T> * bias.slope(j, i) / distance : T(0);
        }
        for (int64_t k = 0; k < a.shape[0]; ++k) {
            for (int64_t i = 0; i < a.shape[1]; ++i)
                da(k, i) += bias.slope(j, i) * (a(k, i) - b(k, j));
        }
    }
}

}  // namespace

template <class T>
void LayerGradient<T>::attention_backward(const LayerWeights<T>& w, bool rotated) {
    if (!config_.has_balls()) return attend_all();
    const int64_t n_piece = shape_.n_piece(), in_ball = shape_.ball / shape_.piece();
    if (config_.is_sparse()) {
        for_items(n_piece, in_ball, LayerSums::static_gate,
                  [&](int64_t piece, int thread) { split_branches(w, piece, thread); });
    }
    for_items(n_piece, in_ball, LayerSums::distance,
              [&](int64_t piece, int thread) { attend_ball(w, rotated, piece, thread); });
    if (!config_.is_sparse()) return;
    if (config_.compresses_groups) {
        fill_zero(groups_.dq);
        queue_.parallel_for(groups_.q.n_tile(),
                            [&](int64_t tile, int thread) { sum_groups(tile, thread); });
    }
    queue_.parallel_for(n_piece, [&](int64_t piece, int thread) { select_queries(piece, thread); });
    select_keys();
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
    if (!sums) return;
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
        kernels::DistanceBias<T> bias{w.sigma.data(), distance};
        if (drelative_.data) {
            bias.slope = {s.slope.data(), distance.shape, distance.stride};
            std::fill(s.slope.begin(), s.slope.end(), T(0));
        }
        kernels::attend_backward_queries<T>(
            queue_, heads, of_ball(piece), shape_.piece_of(work.k(), other),
            shape_.piece_of(work.v(), other), bias, s.attend.data(), shape_.piece_of(dq_, piece),
            sums_[static_cast<size_t>(thread)].sigma);
        kernels::attend_backward_keys<T>(queue_, heads, of_ball(other),
                                         shape_.piece_of(work.k(), piece),
                                         shape_.piece_of(work.v(), piece), bias, s.attend.data(),
                                         shape_.piece_of(dk_, piece), shape_.piece_of(dv_, piece));
        if (drelative_.data)
            distances_backward<T>(bias, own, shape_.piece_of(rel, other),
                                  shape_.piece_of(drelative_, piece));
    }
}

template <class T>
void LayerGradient<T>::pack_queries(const Visitor& visitor, const AttendGradient<T>& of,
                                    std::byte* to) const {
    const int64_t c = config_.n_channel, h = config_.n_head;
    copy_padded(of.q, visitor.rows(to, 0, c));
    copy_padded(of.dy, visitor.rows(to, c, c));
    copy_padded(of.log_sum, visitor.rows(to, 2 * c, h));
    copy_padded(of.delta, visitor.rows(to, 2 * c + h, h));
}

template <class T>
AttendGradient<T> LayerGradient<T>::queries(const Visitor& visitor, std::byte* from) const {
    const int64_t c = config_.n_channel, h = config_.n_head;
    return {visitor.rows(from, 0, c), visitor.rows(from, c, c), visitor.rows(from, 2 * c, h),
            visitor.rows(from, 2 * c + h, h)};
}

/// Differentiates full attention: keys of all ranks visit the own queries, and queries of all ranks
/// the own keys.
template <class T>
void LayerGradient<T>::attend_all() {
    const int64_t c = config_.n_channel, n_piece = shape_.n_piece();
    const kernels::Heads heads = config_.heads();
    visits_.run(
        queue_, keys_.slots, keys_.bytes(),
        [&](int64_t piece, std::byte* to) {
            copy_padded(shape_.piece_of(k_, piece), keys_.rows(to, 0, c));
            copy_padded(shape_.piece_of(v_, piece), keys_.rows(to, c, c));
        },
        [&](std::byte* visitors, int64_t n) {
            queue_.parallel_for(n_piece, [&](int64_t piece, int thread) {
                T* const scratch = scratch_[static_cast<size_t>(thread)].attend.data();
                for (int64_t i = 0; i < n; ++i) {
                    std::byte* const at = visitors + i * keys_.bytes();
                    kernels::attend_backward_queries<T>(
                        queue_, heads, of_ball(piece), keys_.rows(at, 0, c), keys_.rows(at, c, c),
                        {}, scratch, shape_.piece_of(dq_, piece), nullptr);
                }
            });
        });
    visits_.run(
        queue_, queries_.slots, queries_.bytes(),
        [&](int64_t piece, std::byte* to) { pack_queries(queries_, of_ball(piece), to); },
        [&](std::byte* visitors, int64_t n) {
            queue_.parallel_for(n_piece, [&](int64_t piece, int thread) {
                T* const scratch = scratch_[static_cast<size_t>(thread)].attend.data();
                for (int64_t i = 0; i < n; ++i) {
                    kernels::attend_backward_keys<T>(
                        queue_, heads, queries(queries_, visitors + i * queries_.bytes()),
                        shape_.piece_of(k_, piece), shape_.piece_of(v_, piece), {}, scratch,
                        shape_.piece_of(dk_, piece), shape_.piece_of(dv_, piece));
                }
            });
        });
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

template <class T>
AttendGradient<T> LayerGradient<T>::of_selected(int64_t piece) const {
    return {shape_.piece_of(q_, piece), shape_.piece_of(out_.selected, piece),
            shape_.piece_of(out_.log_selected, piece), shape_.piece_of(delta_selected_, piece)};
}

/// Computes the gradients of the queries of a piece in the selected branch.
template <class T>
void LayerGradient<T>::select_queries(int64_t piece, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    Workspace<T>& work = forward_.work();
    const int64_t g = config_.group_size, k = work.n_choice();
    const int64_t n_group = std::max<int64_t>(1, shape_.piece() / g);
    const int64_t first = piece * shape_.piece() / g;
    KeyBlock<const T>* to = s.keys.data();
    for (int64_t p = first; p < first + n_group; ++p) {
        for (int64_t head = 0; head < config_.n_head; ++head) {
            for (int64_t i = 0; i < k; ++i)
                *to++ = forward_.fetch().block(head, work.chosen(p, head)[i]);
        }
    }
    const auto n_key = static_cast<size_t>(to - s.keys.data());
    kernels::bsa::attend_blocks_backward<T>(queue_, config_.heads(), {0, config_.n_head},
                                            of_selected(piece),
                                            {{s.keys.data(), n_key}, config_.block_size, g, k}, {},
                                            s.attend.data(), shape_.piece_of(dq_, piece));
}

/// Computes the gradients of the own keys and values in the selected branch. Queries of all ranks
/// visit them with their chosen blocks. A thread takes one head and some of the blocks.
template <class T>
void LayerGradient<T>::select_keys() {
    const int64_t n_head = config_.n_head, l = config_.block_size, g = config_.group_size;
    const int64_t n_part = (queue_.n_thread() + n_head - 1) / n_head;
    const int64_t begin = shape_.own.begin / l, n_block = shape_.n_local() / l;
    visits_.run(
        queue_, selecting_.slots, selecting_.bytes(),
        [&](int64_t piece, std::byte* to) {
            pack_queries(selecting_, of_selected(piece), to);
            std::copy_n(forward_.work().chosen(piece * shape_.piece() / g, 0), selecting_.n_choice,
                        selecting_.chosen(to));
        },
        [&](std::byte* visitors, int64_t n) {
            queue_.parallel_for(n_head * n_part, [&](int64_t item, int thread) {
                const int64_t part = item / n_head;
                const Range blocks{begin + n_block * part / n_part,
                                   begin + n_block * (part + 1) / n_part};
                add_of_selected(item % n_head, blocks, visitors, n,
                                scratch_[static_cast<size_t>(thread)]);
            });
        });
}

template <class T>
void LayerGradient<T>::add_of_selected(int64_t head, Range blocks, std::byte* visitors,
                                       int64_t n_visitor, Scratch& s) {
    Workspace<T>& work = forward_.work();
    const int64_t k = work.n_choice(), l = config_.block_size, n_head = config_.n_head;
    const int64_t n = std::min(config_.group_size, selecting_.n);  // queries of a group in a tile
    const int64_t channel = head * config_.head_dim() * dk_.row;
    const int64_t first_own = shape_.own.begin / l;
    for (int64_t i = 0; i < n_visitor; ++i) {
        std::byte* const visitor = visitors + i * selecting_.bytes();
        const int32_t* const chosen = selecting_.chosen(visitor);
        const AttendGradient<T> all = queries(selecting_, visitor);
        for (int64_t p = 0; p * n < selecting_.n; ++p) {
            int64_t count = 0;
            const int64_t first = head * k;
            for (int64_t j = 0; j < k; ++j) {
                const int64_t block = chosen[(p * n_head + head) * k + j];
                if (block < blocks.begin || block >= blocks.end) continue;
                const int64_t slot = (block - first_own) * l, at = first + count++;
                s.keys[at] = forward_.fetch().block(head, block);
                s.dkeys[at] = {dk_.column(slot) + channel, dv_.column(slot) + channel, dk_.row};
            }
            if (count == 0) continue;
            const auto some = [&](const Tile<const T>& field) {
                return kernels::points(field, p * n, n);
            };
            // The kernel expects the keys of `head` behind the keys of the heads before it.
            const auto n_key = static_cast<size_t>((head + 1) * count);
            kernels::bsa::attend_blocks_backward<T>(
                queue_, config_.heads(), {head, head + 1},
                {some(all.q), some(all.dy), some(all.log_sum), some(all.delta)},
                {{&s.keys[first - head * count], n_key}, l, config_.group_size, count},
                {&s.dkeys[first - head * count], n_key}, s.attend.data(), {});
        }
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

template void LayerGradient<float>::attention_backward(const LayerWeights<float>&, bool);
template void LayerGradient<double>::attention_backward(const LayerWeights<double>&, bool);

}  // namespace surrogate::impl::bsa
