// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/harmonic_gradient.hpp"

#include <cmath>

namespace surrogate::impl::sphere {

template <class T>
HarmonicGradient<T>::HarmonicGradient(const Frame& frame, const HarmonicUpsampling<T>& forward,
                                      Range out_rows, Range in_rows)
    : frame_(frame),
      forward_(forward),
      in_rows_(in_rows),
      n_limb_(ExactGrid::limbs(forward.out().grid().n_lat)),
      slopes_(out_rows, forward.out().grid().n_lon, forward.n_channel()),
      sums_(n_limb_ * forward.n_channel() * 2 * n_coefficient()),
      terms_(frame.queue.n_thread() * n_coefficient()),
      rows_(frame.queue.n_thread() * forward.out().grid().n_lon),
      fields_(forward.n_channel() * in_rows.size() * forward.in().grid().n_lon) {}

template <class T>
int64_t HarmonicGradient<T>::n_coefficient() const {
    return forward_.in().n_degree() * forward_.in().n_degree();
}

/// The largest sum of |slope| of a row; infinity if one is not finite.
template <class T>
double HarmonicGradient<T>::largest_row() {
    double largest = 0;
    for (int64_t row = slopes_.rows().begin; row < slopes_.rows().end; ++row) {
        const Tile<T> slope = slopes_.row(row);
        for (int64_t c = 0; c < slope.shape[0]; ++c) {
            double sum = 0;
            for (int64_t j = 0; j < slope.shape[1]; ++j)
                sum += std::abs(static_cast<double>(slope(c, j)));
            if (!std::isfinite(sum)) return std::numeric_limits<double>::infinity();
            largest = std::max(largest, sum);
        }
    }
    return largest;
}

template <class T>
void HarmonicGradient<T>::add_rows(const ExactGrid& grid) {
    const int64_t n = n_coefficient(), n_lon = forward_.out().grid().n_lon;
    const int64_t stride = sums_.size() / n_limb_;
    std::ranges::fill(sums_, int64_t{0});
    frame_.queue.parallel_for(forward_.n_channel(), [&](int64_t c, int thread) {
        std::complex<double>* const terms = terms_.data() + thread * n;
        double* const slope = rows_.data() + thread * n_lon;
        int64_t* const sums = sums_.data() + c * 2 * n;
        for (int64_t row = slopes_.rows().begin; row < slopes_.rows().end; ++row) {
            const Tile<T> from = slopes_.row(row);
            for (int64_t j = 0; j < n_lon; ++j) slope[j] = static_cast<double>(from(c, j));
            forward_.out().inverse_gradient(slope, row, terms);
            for (int64_t i = 0; i < n; ++i) {
                grid.add(terms[i].real(), sums + 2 * i, stride);
                grid.add(terms[i].imag(), sums + 2 * i + 1, stride);
            }
        }
    });
}

template <class T>
bool HarmonicGradient<T>::reduce() {
    double largest[] = {largest_row()};
    frame_.comm.all_reduce_max(std::span(largest));
    if (std::isinf(largest[0])) return false;
    const ExactGrid grid(forward_.out().grid().n_lat,
                         largest[0] * forward_.out().inverse_gradient_bound());
    add_rows(grid);
    frame_.comm.all_reduce_sum(std::span(sums_.begin(), sums_.end()));
    const int64_t n = n_coefficient(), stride = sums_.size() / n_limb_;
    const int64_t n_field = in_rows_.size() * forward_.in().grid().n_lon;
    frame_.queue.parallel_for(forward_.n_channel(), [&](int64_t c, int thread) {
        std::complex<double>* const coefficients = terms_.data() + thread * n;
        const int64_t* const sums = sums_.data() + c * 2 * n;
        for (int64_t i = 0; i < n; ++i)
            coefficients[i] = {grid.value(sums + 2 * i, stride),
                               grid.value(sums + 2 * i + 1, stride)};
        forward_.in().forward_gradient(coefficients, in_rows_.begin, in_rows_.end,
                                       fields_.data() + c * n_field);
    });
    return true;
}

template <class T>
void HarmonicGradient<T>::row(int64_t row, Tile<T> dx) const {
    const int64_t n_lon = forward_.in().grid().n_lon;
    for (int64_t c = 0; c < forward_.n_channel(); ++c) {
        const double* const from =
            fields_.data() + (c * in_rows_.size() + row - in_rows_.begin) * n_lon;
        for (int64_t j = 0; j < n_lon; ++j) dx(c, j) = static_cast<T>(from[j]);
    }
}

template <class T>
LayerCost HarmonicGradient<T>::cost(const std::string& name) const {
    LayerCost cost{.name = name};
    const auto n = [](int64_t i) { return static_cast<double>(i); };
    const double degrees = n(forward_.in().n_degree());
    const double rows = n(slopes_.rows().size() + in_rows_.size());
    cost.flops = n(forward_.n_channel()) * rows * degrees *
                 (2 * degrees + 4 * n(forward_.out().grid().n_lon));
    cost.bytes_sent = static_cast<int64_t>(sizeof(double)) + sums_.bytes();
    cost.collectives = 2;
    return cost;
}

template <class T>
int64_t HarmonicGradient<T>::bytes() const {
    return slopes_.bytes() + sums_.bytes() + terms_.bytes() + rows_.bytes() + fields_.bytes();
}

template class HarmonicGradient<float>;
template class HarmonicGradient<double>;

}  // namespace surrogate::impl::sphere
