// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/position_gradient.hpp"

#include <algorithm>

namespace surrogate::impl::bsa {

using kernels::Buffer;
using kernels::Tiles;

template <class T>
PositionGradient<T>::PositionGradient(const TreePlan<T>& plan, const kernels::Queue& queue,
                                      int64_t n_axis)
    : plan_(plan), queue_(queue), n_axis_(n_axis), main_(plan.shape().size(n_axis)) {
    if (!plan.is_rotated()) return;
    rotated_ = Buffer<T>(plan.shape().size(n_axis));
    moving_ = Buffer<T>(plan.move_size(n_axis));
}

template <class T>
void PositionGradient<T>::clear() {
    for (Buffer<T>* buffer : {&main_, &rotated_}) std::fill(buffer->begin(), buffer->end(), T(0));
}

/// A center is the mean of the positions of its ball.
template <class T>
void PositionGradient<T>::subtract_centers(const Tiles<T>& d) {
    const int64_t m = plan_.shape().ball;
    queue_.parallel_for(plan_.shape().n_local() / m, [&](int64_t ball, int) {
        for (int64_t k = 0; k < n_axis_; ++k) {
            double sum = 0;
            for (int64_t s = ball * m; s < (ball + 1) * m; ++s) sum += static_cast<double>(d(k, s));
            const T mean = static_cast<T>(sum / static_cast<double>(m));
            for (int64_t s = ball * m; s < (ball + 1) * m; ++s) d(k, s) -= mean;
        }
    });
}

template <class T>
void PositionGradient<T>::finish() {
    subtract_centers(relative(false));
    if (!plan_.is_rotated()) return;
    subtract_centers(relative(true));
    plan_.move(relative(true), false, moving_.data());
    for (int64_t i = 0; i < main_.size(); ++i) main_[i] += rotated_[i];
}

template class PositionGradient<float>;
template class PositionGradient<double>;

}  // namespace surrogate::impl::bsa
