// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/readout_gradient.hpp"

#include <algorithm>

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::lane_count;
using kernels::Tile;

namespace {

template <class T>
Tile<T> column(Buffer<T>& buffer, int64_t n_channel) {
    return {buffer.data(), {n_channel, 1}, {lane_count, 1}};
}

}  // namespace

template <class T>
ReadoutGradient<T>::ReadoutGradient(const Config& config, const Layers<T>& layers,
                                    const kernels::Queue& queue, const SequenceReadout<T>& forward,
                                    const Places& places, bool gives_weights)
    : config_(config),
      layers_(layers),
      queue_(queue),
      forward_(forward),
      places_(places),
      gives_weights_(gives_weights),
      dlogits_(config.out_dim),
      normed_(config.channel_dim * lane_count),
      dnormed_(config.channel_dim * lane_count),
      saved_(layers.out_proj.view().n_saved() * lane_count),
      mlp_(2 * config.channel_dim * lane_count),
      dy_(config.out_dim * lane_count),
      dpooled_(config.channel_dim * lane_count),
      largest_(takes_largest() ? config.channel_dim : 0),
      ranks_(takes_largest() ? config.channel_dim + 1 : 0) {}

template <class T>
void ReadoutGradient<T>::head_back(GradientSums& sums) {
    const int64_t n = config_.channel_dim;
    const bool is_normed = config_.sequence.is_normed();
    double* const arena = sums.open(0).data();
    const Tile<T> dy = column(dy_, config_.out_dim), dpooled = column(dpooled_, n);
    const Tile<T> normed = column(normed_, n), dnormed = column(dnormed_, n);
    const kernels::ResidualMlp<T> mlp = layers_.out_proj.view();
    const Tile<T> saved = column(saved_, mlp.n_saved());
    const Tile<const T> pooled = forward_.head_input();
    if (is_normed) kernels::normalise<T>(queue_, layers_.sequence.head_norm, pooled, normed);
    const Tile<const T> x = is_normed ? normed : pooled;
    kernels::residual_mlp_forward<T>(queue_, mlp, x, saved, false, dy);
    for (int64_t c = 0; c < config_.out_dim; ++c) dy(c, 0) = dlogits_[c];
    kernels::residual_mlp_backward<T>(queue_, mlp, x, saved, dy,
                                      places_.out_proj.in(arena, layers_back_), column(mlp_, 2 * n),
                                      false, is_normed ? dnormed : dpooled);
    if (is_normed) {
        kernels::normalise_backward<T>(queue_, layers_.sequence.head_norm, pooled, dnormed, {},
                                       dpooled, places_.sequence.head_norm.in(arena));
    }
    forward_.drop(dpooled, dpooled);
    for (const PlaceRange& range : places_.sequence.head) {
        if (gives_weights_) {
            sums.close(0, range.begin, range.end);
        } else if (arena) {
            std::fill(arena + range.begin, arena + range.end, 0.0);
        }
    }
}

/// Ranks have tokens in their order: of those with the largest of a channel the first one keeps it.
template <class T>
bool ReadoutGradient<T>::find_largest(Communicator& comm, bool alive) {
    const int64_t n = config_.channel_dim, own = comm.size() - comm.rank();
    std::ranges::fill(ranks_, int64_t{0});
    ranks_[n] = alive ? 0 : 1;
    for (int64_t c = 0; c < n && alive; ++c) {
        largest_[c] = forward_.tile_of_largest(c);
        if (largest_[c] >= 0) ranks_[c] = own;
    }
    comm.all_reduce_max(std::span(ranks_.begin(), ranks_.end()));
    for (int64_t c = 0; c < n; ++c)
        if (ranks_[c] != own) largest_[c] = -1;
    return ranks_[n] == 0;
}

template <class T>
bool ReadoutGradient<T>::run(Communicator& comm, bool alive, GradientSums& sums) {
    alive = alive && (forward_.n_token() > 0 || !config_.sequence.is_normed());
    if (takes_largest()) alive = find_largest(comm, alive);
    if (alive) head_back(sums);
    return alive;
}

template <class T>
void ReadoutGradient<T>::give(int64_t tile, Tile<const T> x, Tile<T> dx) const {
    const auto n_token = static_cast<T>(forward_.n_token());
    for (int64_t c = 0; c < config_.channel_dim; ++c) {
        const T of_channel = dpooled_[c * lane_count];
        std::fill_n(&dx(c, 0), dx.shape[1], takes_largest() ? T(0) : of_channel / n_token);
        if (!takes_largest() || largest_[c] != tile) continue;
        int64_t i = 0;
        while (i + 1 < x.shape[1] && x(c, i) != forward_.pooled()(c, 0)) ++i;
        dx(c, i) = of_channel;
    }
}

template <class T>
void ReadoutGradient<T>::give_class_token(Tile<T> dx) const {
    for (int64_t c = 0; c < config_.channel_dim; ++c) dx(c, 0) = dpooled_[c * lane_count];
}

template <class T>
int64_t ReadoutGradient<T>::bytes_sent() const {
    return ranks_.bytes();
}

template <class T>
int64_t ReadoutGradient<T>::bytes() const {
    return dlogits_.bytes() + normed_.bytes() + dnormed_.bytes() + saved_.bytes() + mlp_.bytes() +
           dy_.bytes() + dpooled_.bytes() + largest_.bytes() + ranks_.bytes();
}

template class ReadoutGradient<float>;
template class ReadoutGradient<double>;

}  // namespace surrogate::impl::flare
