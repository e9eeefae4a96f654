// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/norm_backward.hpp"

namespace surrogate::impl::sphere {

template <class T>
NormBackward<T>::NormBackward(const Frame& frame, const PointNorm<T>& norm,
                              const MasterWeights& master, const std::string& name)
    : frame_(frame), norm_(norm) {
    if (norm.kind_ == BlockNorm::none) return;
    slots_ = GradientPair(master, name + ".weight", name + ".bias");
    if (norm.kind_ == BlockNorm::instance)
        slopes_ = Buffer<kernels::ChannelSlope<T>>(norm.moments_->n_channel());
}

template <class T>
bool NormBackward<T>::back_over_grid(Field<T>& x, Field<T>& dy, Field<T>& g, GradientSums& sums) {
    GridMoments<T>& moments = *norm_.moments_;
    if (!moments.measure_slopes(x, dy)) return false;
    const kernels::NormGradient gradient = slots_.norm(sums, 0);
    const bool adds = frame_.rank() == 0;
    const double n_point = static_cast<double>(moments.n_point());
    for (int64_t c = 0; c < moments.n_channel(); ++c) {
        const double inverse = norm_.inverse_[c], mean = norm_.mean_[c];
        const double scale = static_cast<double>(norm_.weight_[c]) * inverse;
        const double dweight = inverse * (moments.product(c) - mean * moments.sum(c));
        slopes_[c] = {static_cast<T>(scale), static_cast<T>(mean),
                      static_cast<T>(scale * inverse * dweight / n_point),
                      static_cast<T>(scale * moments.sum(c) / n_point)};
        if (!adds || !gradient.weight) continue;
        gradient.weight[c] += dweight;
        gradient.bias[c] += moments.sum(c);
    }
    if (adds) slots_.close(sums, 0);
    frame_.queue.parallel_for(g.rows().size(), [&](int64_t i, int) {
        const int64_t row = g.rows().begin + i;
        kernels::combine_slopes<T>(frame_.queue, slopes_.data(), x.row(row), dy.row(row), true,
                                   g.row(row));
    });
    return true;
}

template <class T>
bool NormBackward<T>::back(Field<T>& x, Field<T>& dy, Field<T>& g, GradientSums& sums) {
    if (norm_.kind_ == BlockNorm::instance) return back_over_grid(x, dy, g, sums);
    frame_.queue.parallel_for(g.rows().size(), [&](int64_t i, int thread) {
        const int64_t row = g.rows().begin + i;
        const Tile<T> to = g.row(row);
        if (norm_.kind_ == BlockNorm::layer) {
            kernels::normalise_backward<T>(frame_.queue, norm_.layer_, x.row(row), dy.row(row), to,
                                           to, slots_.norm(sums, thread));
            slots_.close(sums, thread);
            return;
        }
        const Tile<T> from = dy.row(row);
        for (int64_t c = 0; c < to.shape[0]; ++c) {
            for (int64_t j = 0; j < to.shape[1]; ++j) to(c, j) += from(c, j);
        }
    });
    return true;
}

template class NormBackward<float>;
template class NormBackward<double>;

}  // namespace surrogate::impl::sphere
