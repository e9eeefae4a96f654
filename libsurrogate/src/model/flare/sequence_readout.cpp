// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/sequence_readout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libsurrogate/src/ranks/exact_sum.hpp"

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::lane_count;
using kernels::Tile;

template <class T>
SequenceReadout<T>::SequenceReadout(const Config& config, const Layers<T>& layers,
                                    const kernels::Queue& queue)
    : config_(config),
      layers_(layers),
      queue_(queue),
      maxima_(config.channel_dim + 1),
      pooled_(config.channel_dim * lane_count),
      dropped_(config.sequence.cls_drop > 0 ? config.channel_dim * lane_count : 0),
      normed_(config.channel_dim * lane_count),
      hidden_(2 * config.channel_dim * lane_count),
      y_(config.out_dim * lane_count),
      logits_(config.out_dim) {}

template <class T>
void SequenceReadout<T>::resize(int64_t n_tile, int64_t n_tile_global, int64_t n_token) {
    n_tile_ = n_tile;
    n_tile_global_ = std::max<int64_t>(1, n_tile_global);
    n_token_ = n_token;
    tiles_.resize(config_.sequence.is_normed() ? n_tile * n() : 0);
    sums_.resize(ExactGrid::limbs(n_tile_global_) * n() + 1);
}

template <class T>
void SequenceReadout<T>::take(int64_t tile, Tile<const T> x) {
    double* const of_tile = tiles_.data() + tile * n();
    for (int64_t c = 0; c < n(); ++c) {
        double value = static_cast<double>(x(c, 0));
        for (int64_t i = 1; i < x.shape[1]; ++i) {
            const auto other = static_cast<double>(x(c, i));
            // Quiet: NaN, which only overflow can make, stays.
            if (config_.sequence.pool == Pool::mean)
                value += other;
            else if (!std::islessequal(other, value))
                value = std::isnan(value) ? value : other;
        }
        of_tile[c] = value;
    }
}

template <class T>
void SequenceReadout<T>::take_class_token(Tile<const T> x) {
    for (int64_t c = 0; c < n(); ++c) maxima_[c] = static_cast<double>(x(c, 0));
}

/// Bound of a tile's sum: a norm gives |x| <= sqrt(C) |weight| + |bias|, to rounding.
template <class T>
double SequenceReadout<T>::bound(int64_t channel) const {
    const kernels::Norm<T>& norm = layers_.out_norm;
    const double weight = std::abs(static_cast<double>(norm.weight[channel]));
    const double bias = norm.bias ? std::abs(static_cast<double>(norm.bias[channel])) : 0;
    return 1.01 * static_cast<double>(kernels::tile_points) *
           (std::sqrt(static_cast<double>(n())) * weight + bias);
}

template <class T>
bool SequenceReadout<T>::sum(Communicator& comm, bool poisoned) {
    const int64_t last = sums_.size() - 1;
    std::fill(sums_.begin(), sums_.end(), int64_t{0});
    const bool is_finite =
        std::all_of(tiles_.begin(), tiles_.end(), [](double x) { return std::isfinite(x); });
    sums_[last] = poisoned || !is_finite;
    for (int64_t c = 0; c < n() && sums_[last] == 0; ++c) {
        const ExactGrid grid(n_tile_global_, bound(c));
        for (int64_t tile = 0; tile < n_tile_; ++tile)
            grid.add(tiles_[tile * n() + c], &sums_[c], n());
    }
    comm.all_reduce_sum(std::span(sums_.begin(), sums_.end()));
    if (sums_[last] != 0) return false;
    for (int64_t c = 0; c < n(); ++c) {
        const ExactGrid grid(n_tile_global_, bound(c));
        pooled_[c * lane_count] = static_cast<T>(
            grid.value(&sums_[c], n()) / static_cast<double>(std::max<int64_t>(1, n_token_)));
    }
    return true;
}

/// Reduces the maxima over the ranks. Maxima do not carry NaN, so a flag is sent with them.
template <class T>
bool SequenceReadout<T>::raise(Communicator& comm, bool poisoned) {
    std::fill(maxima_.begin(), maxima_.end(), std::numeric_limits<double>::lowest());
    const bool is_finite =
        std::all_of(tiles_.begin(), tiles_.end(), [](double x) { return std::isfinite(x); });
    const bool is_bad = poisoned || !is_finite;
    for (int64_t i = 0; i < tiles_.size() && !is_bad; ++i)
        maxima_[i % n()] = std::max(maxima_[i % n()], tiles_[i]);
    maxima_[n()] = is_bad ? 1 : 0;
    comm.all_reduce_max(std::span(maxima_.begin(), maxima_.end()));
    if (maxima_[n()] != 0) return false;
    for (int64_t c = 0; c < n() && n_token_ > 0; ++c)
        pooled_[c * lane_count] = static_cast<T>(maxima_[c]);
    return true;
}

/// From the rank that has the class token, by a sum in which the others give zeros.
template <class T>
bool SequenceReadout<T>::broadcast(Communicator& comm, bool poisoned) {
    if (comm.rank() != 0) std::fill(maxima_.begin(), maxima_.end(), 0.0);
    maxima_[n()] = 0;
    if (poisoned)
        std::fill(maxima_.begin(), maxima_.end(), std::numeric_limits<double>::quiet_NaN());
    comm.all_reduce_sum(std::span(maxima_.begin(), maxima_.end()));
    for (int64_t c = 0; c <= n(); ++c) {
        if (!std::isfinite(maxima_[c])) return false;
        if (c < n()) pooled_[c * lane_count] = static_cast<T>(maxima_[c]);
    }
    return true;
}

template <class T>
bool SequenceReadout<T>::run(Communicator& comm, bool poisoned) {
    const bool is_finite = config_.sequence.pool == Pool::mean  ? sum(comm, poisoned)
                           : config_.sequence.pool == Pool::max ? raise(comm, poisoned)
                                                                : broadcast(comm, poisoned);
    if (!is_finite) return false;
    if (config_.sequence.is_normed() && n_token_ == 0) {
        std::fill(logits_.begin(), logits_.end(), std::numeric_limits<T>::quiet_NaN());
    } else {
        predict();
    }
    return true;
}

template <class T>
void SequenceReadout<T>::predict() {
    const auto column = [](Buffer<T>& buffer, int64_t n_channel) {
        return Tile<T>{buffer.data(), {n_channel, 1}, {lane_count, 1}};
    };
    if (drops()) drop(pooled(), column(dropped_, n()));
    Tile<const T> x = head_input();
    if (config_.sequence.is_normed()) {
        const Tile<T> normed = column(normed_, n());
        kernels::normalise<T>(queue_, layers_.sequence.head_norm, x, normed);
        x = normed;
    }
    const Tile<T> y = column(y_, config_.out_dim);
    kernels::residual_mlp<T>(queue_, layers_.out_proj.view(), x, column(hidden_, 2 * n()), false,
                             y);
    for (int64_t c = 0; c < config_.out_dim; ++c) logits_[c] = y(c, 0);
}

template <class T>
void SequenceReadout<T>::drop(Tile<const T> x, Tile<T> y) const {
    if (drops())
        dropout_->apply<T>({head_site, config_.sequence.cls_drop}, DropoutRows::shared(), x, false,
                           y);
}

template <class T>
int64_t SequenceReadout<T>::tile_of_largest(int64_t channel) const {
    for (int64_t tile = 0; tile < n_tile_; ++tile)
        if (tiles_[tile * n() + channel] == maxima_[channel]) return tile;
    return -1;
}

template <class T>
int64_t SequenceReadout<T>::bytes_sent() const {
    return config_.sequence.pool == Pool::mean ? sums_.bytes() : maxima_.bytes();
}

template <class T>
int64_t SequenceReadout<T>::bytes() const {
    return tiles_.bytes() + sums_.bytes() + maxima_.bytes() + pooled_.bytes() + dropped_.bytes() +
           normed_.bytes() + hidden_.bytes() + y_.bytes() + logits_.bytes();
}

template class SequenceReadout<float>;
template class SequenceReadout<double>;

}  // namespace surrogate::impl::flare
