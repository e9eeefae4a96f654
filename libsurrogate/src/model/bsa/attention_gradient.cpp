// SPDX-License-Identifier: Apache-2.0
// Backward through attention: gates, balls, and full attention.
#include <algorithm>
#include <numbers>

#include "libsurrogate/src/model/bsa/layer_gradient.hpp"

namespace surrogate::impl::bsa {

using kernels::AttendGradient;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;

namespace {

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
    selected_backward();
    compressed_backward(w);
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

template void LayerGradient<float>::attention_backward(const LayerWeights<float>&, bool);
template void LayerGradient<double>::attention_backward(const LayerWeights<double>&, bool);

}  // namespace surrogate::impl::bsa
