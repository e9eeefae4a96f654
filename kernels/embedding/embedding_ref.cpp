// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/embedding/embedding.hpp"

namespace surrogate::kernels::ref {

template <class T>
void fourier_features(int64_t n_feature, const T* weight, Tile<const T> p, Tile<T> f) {
    const auto [n_dim, n_point] = p.shape;
    for (int64_t c = 0; c < n_feature; ++c) {
        for (int64_t i = 0; i < n_point; ++i) {
            T angle = 0;
            for (int64_t k = 0; k < n_dim; ++k) angle += weight[c * n_dim + k] * p(k, i);
            f(c, i) = std::cos(angle);
            f(n_feature + c, i) = std::sin(angle);
        }
    }
}

template <class T>
void fourier_angles_backward(Tile<const T> f, Tile<const T> df, Tile<T> da) {
    const auto [n_feature, n_point] = da.shape;
    for (int64_t c = 0; c < n_feature; ++c) {
        for (int64_t i = 0; i < n_point; ++i)
            da(c, i) = f(c, i) * df(n_feature + c, i) - f(n_feature + c, i) * df(c, i);
    }
}

#define SURROGATE_EMBEDDING(T)                                                 \
    template void fourier_features(int64_t, const T*, Tile<const T>, Tile<T>); \
    template void fourier_angles_backward(Tile<const T>, Tile<const T>, Tile<T>);
SURROGATE_EMBEDDING(float)
SURROGATE_EMBEDDING(double)
#undef SURROGATE_EMBEDDING

}  // namespace surrogate::kernels::ref
