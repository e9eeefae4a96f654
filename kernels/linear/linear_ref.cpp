// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/linear.hpp"

namespace surrogate::kernels::ref {

template <class T>
void linear(const Linear<T>& layer, Tile<const T> x, Tile<const T> residual, Tile<T> y) {
    for (int64_t o = 0; o < layer.n_out; ++o) {
        for (int64_t i = 0; i < x.shape[1]; ++i) {
            T sum = layer.bias ? layer.bias[o] : T(0);
            for (int64_t c = 0; c < layer.n_in; ++c)
                sum += layer.weight[o * layer.n_in + c] * x(c, i);
            if (residual.data) sum += residual(o, i);
            y(o, i) = sum;
        }
    }
}

template <class T>
void linear_backward(const Linear<T>& layer, Tile<const T> dy, Tile<const T> residual,
                     bool accumulate, Tile<T> dx) {
    for (int64_t c = 0; c < layer.n_in; ++c) {
        for (int64_t i = 0; i < dy.shape[1]; ++i) {
            T sum = 0;
            for (int64_t o = 0; o < layer.n_out; ++o)
                sum += layer.weight[o * layer.n_in + c] * dy(o, i);
            if (residual.data) sum += residual(c, i);
            if (accumulate) sum += dx(c, i);
            dx(c, i) = sum;
        }
    }
}

template <class T>
void linear_gradient(Tile<const T> x, Tile<const T> dy, const LinearGradient& gradient) {
    const int64_t n_in = x.shape[0], n_point = x.shape[1];
    for (int64_t o = 0; o < dy.shape[0]; ++o) {
        for (int64_t c = 0; c < n_in; ++c) {
            T sum = 0;
            for (int64_t i = 0; i < n_point; ++i) sum += dy(o, i) * x(c, i);
            gradient.weight[o * n_in + c] += static_cast<double>(sum);
        }
        T sum = 0;
        for (int64_t i = 0; i < n_point; ++i) sum += dy(o, i);
        if (gradient.bias) gradient.bias[o] += static_cast<double>(sum);
    }
}

template void linear(const Linear<float>&, Tile<const float>, Tile<const float>, Tile<float>);
template void linear(const Linear<double>&, Tile<const double>, Tile<const double>, Tile<double>);
template void linear_backward(const Linear<float>&, Tile<const float>, Tile<const float>, bool,
                              Tile<float>);
template void linear_backward(const Linear<double>&, Tile<const double>, Tile<const double>, bool,
                              Tile<double>);
template void linear_gradient(Tile<const float>, Tile<const float>, const LinearGradient&);
template void linear_gradient(Tile<const double>, Tile<const double>, const LinearGradient&);

}  // namespace surrogate::kernels::ref
