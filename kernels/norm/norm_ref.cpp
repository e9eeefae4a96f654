// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/norm/norm.hpp"

namespace surrogate::kernels::ref {
namespace {

template <class T>
void layer_norm(const Norm<T>& norm, Tile<const T> x, Tile<T> y, int64_t i) {
    const int64_t n_channel = x.shape[0];
    T mean = 0;
    for (int64_t c = 0; c < n_channel; ++c) mean += x(c, i);
    mean /= T(n_channel);
    T variance = 0;
    for (int64_t c = 0; c < n_channel; ++c) variance += (x(c, i) - mean) * (x(c, i) - mean);
    const T scale = 1 / std::sqrt(variance / T(n_channel) + norm.eps);
    for (int64_t c = 0; c < n_channel; ++c)
        y(c, i) = (x(c, i) - mean) * scale * norm.weight[c] + norm.bias[c];
}

template <class T>
void rms_norm(const Norm<T>& norm, Tile<const T> x, Tile<T> y, int64_t i) {
    const int64_t n_channel = x.shape[0];
    T square = 0;
    for (int64_t c = 0; c < n_channel; ++c) square += x(c, i) * x(c, i);
    const T scale = 1 / std::sqrt(square / T(n_channel) + norm.eps);
    for (int64_t c = 0; c < n_channel; ++c) y(c, i) = x(c, i) * scale * norm.weight[c];
}

}  // namespace

template <class T>
void normalise(const Norm<T>& norm, Tile<const T> x, Tile<T> y) {
    for (int64_t i = 0; i < x.shape[1]; ++i) {
        if (norm.kind == NormKind::layer) layer_norm(norm, x, y, i);
        if (norm.kind == NormKind::rms) rms_norm(norm, x, y, i);
    }
}

template void normalise(const Norm<float>&, Tile<const float>, Tile<float>);
template void normalise(const Norm<double>&, Tile<const double>, Tile<double>);

}  // namespace surrogate::kernels::ref
