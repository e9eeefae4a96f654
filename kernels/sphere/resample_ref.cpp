// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/resample.hpp"

namespace surrogate::kernels::sphere::ref {
namespace {

/// Interpolates like the official code: exact at both ends.
template <class T>
T lerp(T a, T b, T t) {
    return t < T(0.5) ? a + t * (b - a) : b - (b - a) * (1 - t);
}

/// Interpolates between a and b, at angle w.
template <class T>
T interpolate(Interpolation interpolation, T a, T b, double t, double w) {
    if (interpolation == Interpolation::bilinear) return lerp(a, b, static_cast<T>(t));
    const PairWeights weights = spherical_weights(t, w);
    return a * static_cast<T>(weights.a) + b * static_cast<T>(weights.b);
}

}  // namespace

template <class T>
void resample_row(const Resampling& table, int64_t row, Tile<const T> upper, Tile<const T> lower,
                  Tile<T> scratch, bool accumulate, Tile<T> y) {
    const auto h = static_cast<size_t>(row);
    const int64_t n_in = table.in.n_lon;
    for (int64_t c = 0; c < y.shape[0]; ++c) {
        for (int64_t j = 0; j < n_in; ++j)
            scratch(c, j) = interpolate(table.interpolation, upper(c, j), lower(c, j),
                                        table.lat_t[h], table.lat_w[h]);
        for (int64_t j = 0; j < table.out.n_lon; ++j) {
            const auto i = static_cast<size_t>(j);
            const int64_t left = table.left[i], right = left + 1 == n_in ? 0 : left + 1;
            const T value = interpolate(table.interpolation, scratch(c, left), scratch(c, right),
                                        table.lon_t[i], table.lon_w);
            y(c, j) = accumulate ? y(c, j) + value : value;
        }
    }
}

template void resample_row(const Resampling&, int64_t, Tile<const float>, Tile<const float>,
                           Tile<float>, bool, Tile<float>);
template void resample_row(const Resampling&, int64_t, Tile<const double>, Tile<const double>,
                           Tile<double>, bool, Tile<double>);

}  // namespace surrogate::kernels::sphere::ref
