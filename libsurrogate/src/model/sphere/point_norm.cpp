// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/point_norm.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/norm/moments.hpp"
#include "kernels/norm/moments_backward.hpp"

namespace surrogate::impl::sphere {

template <class T>
GridMoments<T>::GridMoments(const Frame& frame, const Bands& bands, int64_t n_channel)
    : frame_(frame), bands_(bands), n_channel_(n_channel), total_(2 * n_channel) {
    owner_.resize(static_cast<size_t>(bands.grid().n_lat));
    for (int rank = 0; rank < bands.n_rank(); ++rank) {
        const Range own = bands.of(rank);
        most_rows_ = std::max(most_rows_, own.size());
        for (int64_t row = own.begin; row < own.end; ++row) owner_[static_cast<size_t>(row)] = rank;
    }
    own_ = Buffer<double>(most_rows_ * 2 * n_channel);
    if (frame.reproducible) gathered_ = Buffer<double>(own_.size() * bands.n_rank());
}

template <class T>
void GridMoments<T>::add_rows(const double* sums, int64_t n_row) {
    for (int64_t row = 0; row < n_row; ++row) {
        for (int64_t c = 0; c < 2 * n_channel_; ++c) total_[c] += sums[row * 2 * n_channel_ + c];
    }
}

template <class T>
bool GridMoments<T>::measure(Field<T>& x) {
    const Range own = bands_.of(frame_.rank());
    frame_.queue.parallel_for(own.size(), [&](int64_t i, int) {
        double* sum = own_.data() + i * 2 * n_channel_;
        kernels::channel_moments<T>(frame_.queue, x.row(own.begin + i), sum, sum + n_channel_);
    });
    if (!join_rows()) return false;
    const double n = static_cast<double>(n_point());
    for (int64_t c = 0; c < n_channel_; ++c) {
        const double mean = total_[c] / n, square = total_[n_channel_ + c];
        total_[c] = mean;
        total_[n_channel_ + c] = std::max(square / n - mean * mean, 0.0);
    }
    return true;
}

template <class T>
bool GridMoments<T>::measure_slopes(Field<T>& x, Field<T>& dy) {
    const Range own = bands_.of(frame_.rank());
    frame_.queue.parallel_for(own.size(), [&](int64_t i, int) {
        double* sum = own_.data() + i * 2 * n_channel_;
        kernels::channel_products<T>(frame_.queue, x.row(own.begin + i), dy.row(own.begin + i), sum,
                                     sum + n_channel_);
    });
    return join_rows();
}

/// Sums of own rows to sums of all rows; whether they are finite.
template <class T>
bool GridMoments<T>::join_rows() {
    std::fill(total_.begin(), total_.end(), 0.0);
    if (frame_.reproducible) {
        frame_.comm.all_gather(own_.data(), gathered_.data(), own_.bytes());
        for (int64_t row = 0; row < bands_.grid().n_lat; ++row) {
            const int rank = owner_[static_cast<size_t>(row)];
            const int64_t place = rank * most_rows_ + row - bands_.of(rank).begin;
            add_rows(gathered_.data() + place * 2 * n_channel_, 1);
        }
    } else {
        add_rows(own_.data(), bands_.of(frame_.rank()).size());
        frame_.comm.all_reduce_sum(std::span(total_.data(), static_cast<size_t>(total_.size())));
    }
    return std::ranges::all_of(total_, [](double sum) { return std::isfinite(sum); });
}

template <class T>
int64_t GridMoments<T>::bytes_sent() const {
    return frame_.reproducible ? own_.bytes() : total_.bytes();
}

template <class T>
PointNorm<T>::PointNorm(const Frame& frame, BlockNorm kind, const Weights<T>& weights,
                        const std::string& name, double eps, GridMoments<T>* moments)
    : frame_(frame), kind_(kind), eps_(eps), moments_(moments) {
    if (kind == BlockNorm::layer) layer_ = weights.layer_norm(name, eps);
    if (kind != BlockNorm::instance) return;
    weight_ = weights.at(name + ".weight");
    bias_ = weights.at(name + ".bias");
    scale_ = Buffer<T>(moments->n_channel());
    shift_ = Buffer<T>(moments->n_channel());
    mean_ = Buffer<double>(moments->n_channel());
    inverse_ = Buffer<double>(moments->n_channel());
}

template <class T>
bool PointNorm<T>::measure(Field<T>& x) {
    if (kind_ != BlockNorm::instance) return true;
    if (!moments_->measure(x)) return false;
    for (int64_t c = 0; c < moments_->n_channel(); ++c) {
        const double deviation = std::sqrt(moments_->variance(c) + eps_);
        const double scale = static_cast<double>(weight_[c]) / deviation;
        mean_[c] = moments_->mean(c);
        inverse_[c] = 1 / deviation;
        scale_[c] = static_cast<T>(scale);
        shift_[c] = static_cast<T>(static_cast<double>(bias_[c]) - moments_->mean(c) * scale);
    }
    return true;
}

template <class T>
void PointNorm<T>::apply(Tile<const T> x, Tile<T> y) const {
    switch (kind_) {
        case BlockNorm::none:
            if (x.data != y.data) copy<T>(x, y);
            return;
        case BlockNorm::layer: return kernels::normalise<T>(frame_.queue, layer_, x, y);
        case BlockNorm::instance:
            return kernels::scale_shift<T>(frame_.queue, scale_.data(), shift_.data(), x, y);
    }
}

template <class T>
LayerCost PointNorm<T>::cost(const std::string& name) const {
    LayerCost cost{.name = name};
    if (kind_ != BlockNorm::instance) return cost;
    cost.bytes_sent = moments_->bytes_sent();
    cost.collectives = 1;
    return cost;
}

template class GridMoments<float>;
template class GridMoments<double>;
template class PointNorm<float>;
template class PointNorm<double>;

}  // namespace surrogate::impl::sphere
