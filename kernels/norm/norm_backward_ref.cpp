// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/norm/norm.hpp"

namespace surrogate::kernels::ref {
namespace {

/// Statistics of one point in the formula: `slope` is mean(g h).
template <class T>
struct Point {
    T mean = 0, scale = 0, mean_g = 0, slope = 0;
};

template <class T>
Point<T> read_point(const Norm<T>& norm, Tile<const T> x, Tile<const T> dy, int64_t i) {
    const int64_t n_channel = x.shape[0];
    const T n = T(n_channel);
    const bool is_centred = norm.kind == NormKind::layer;
    Point<T> point;
    for (int64_t c = 0; is_centred && c < n_channel; ++c) point.mean += x(c, i) / n;
    T variance = 0;
    for (int64_t c = 0; c < n_channel; ++c)
        variance += (x(c, i) - point.mean) * (x(c, i) - point.mean) / n;
    point.scale = 1 / std::sqrt(variance + norm.eps);
    for (int64_t c = 0; c < n_channel; ++c) {
        const T g = dy(c, i) * norm.weight[c], h = (x(c, i) - point.mean) * point.scale;
        if (is_centred) point.mean_g += g / n;
        point.slope += g * h / n;
    }
    return point;
}

}  // namespace

template <class T>
void normalise_backward(const Norm<T>& norm, Tile<const T> x, Tile<const T> dy,
                        Tile<const T> residual, Tile<T> dx, const NormGradient& gradient) {
    for (int64_t i = 0; i < x.shape[1]; ++i) {
        const Point<T> point = read_point(norm, x, dy, i);
        for (int64_t c = 0; c < x.shape[0]; ++c) {
            const T g = dy(c, i) * norm.weight[c], h = (x(c, i) - point.mean) * point.scale;
            if (gradient.weight) gradient.weight[c] += static_cast<double>(dy(c, i) * h);
            if (gradient.bias) gradient.bias[c] += static_cast<double>(dy(c, i));
            const T value = point.scale * (g - point.mean_g - h * point.slope);
            dx(c, i) = residual.data ? value + residual(c, i) : value;
        }
    }
}

template void normalise_backward(const Norm<float>&, Tile<const float>, Tile<const float>,
                                 Tile<const float>, Tile<float>, const NormGradient&);
template void normalise_backward(const Norm<double>&, Tile<const double>, Tile<const double>,
                                 Tile<const double>, Tile<double>, const NormGradient&);

}  // namespace surrogate::kernels::ref
