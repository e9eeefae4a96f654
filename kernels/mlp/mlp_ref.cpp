// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "kernels/mlp/mlp.hpp"

namespace surrogate::kernels::ref {
namespace {

template <class T>
void add(Tile<const T> x, Tile<T> y) {
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        for (int64_t i = 0; i < x.shape[1]; ++i) y(c, i) += x(c, i);
    }
}

/// a = f(W x + b) (+ x)
template <class T>
void hidden(const Linear<T>& layer, Activation activation, Tile<const T> x, bool residual,
            Tile<T> a) {
    linear<T>(layer, x, {}, a);
    activate<T>(activation, a, a);
    if (residual) add<T>(x, a);
}

/// y = W x + b (+ x) (+ y)
template <class T>
void last(const Linear<T>& layer, Tile<const T> x, bool residual, bool accumulate, Tile<T> y) {
    const Tile<const T> before = accumulate ? Tile<const T>(y) : Tile<const T>{};
    linear<T>(layer, x, before, y);
    if (residual) add<T>(x, y);
}

}  // namespace

template <class T>
void residual_mlp(const ResidualMlp<T>& mlp, Tile<const T> x, Tile<T> scratch, bool accumulate,
                  Tile<T> y) {
    const auto& layers = mlp.layers;
    const auto n_layer = layers.size();
    if (n_layer == 1) {
        const bool residual = mlp.residual_in && mlp.residual_out && mlp.n_in() == mlp.n_out();
        return last<T>(layers[0], x, residual, accumulate, y);
    }
    const int64_t n_hidden = mlp.n_hidden();
    Tile<T> a = channels(scratch, 0, n_hidden), next = channels(scratch, n_hidden, n_hidden);
    hidden<T>(layers[0], mlp.activation, x, mlp.residual_in && mlp.n_in() == n_hidden, a);
    for (size_t j = 1; j + 1 < n_layer; ++j) {
        hidden<T>(layers[j], mlp.activation, a, true, next);
        std::swap(a, next);
    }
    last<T>(layers[n_layer - 1], a, mlp.residual_out && n_hidden == mlp.n_out(), accumulate, y);
}

template void residual_mlp(const ResidualMlp<float>&, Tile<const float>, Tile<float>, bool,
                           Tile<float>);
template void residual_mlp(const ResidualMlp<double>&, Tile<const double>, Tile<double>, bool,
                           Tile<double>);

}  // namespace surrogate::kernels::ref
