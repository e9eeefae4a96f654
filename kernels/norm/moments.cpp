// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/moments.hpp"

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels {

template <class T>
void channel_moments(const Queue& queue, Tile<const T> x, double* sum, double* square) {
    if (!uses_simd<T>(queue, "channel_moments")) return ref::channel_moments(x, sum, square);
    if constexpr (std::is_same_v<T, float>) simd::channel_moments(queue.level(), x, sum, square);
}

template <class T>
void scale_shift(const Queue& queue, const T* scale, const T* shift, Tile<const T> x, Tile<T> y) {
    if (!uses_simd<T>(queue, "scale_shift")) return ref::scale_shift(scale, shift, x, y);
    if constexpr (std::is_same_v<T, float>) simd::scale_shift(queue.level(), scale, shift, x, y);
}

template void channel_moments(const Queue&, Tile<const float>, double*, double*);
template void channel_moments(const Queue&, Tile<const double>, double*, double*);
template void scale_shift(const Queue&, const float*, const float*, Tile<const float>, Tile<float>);
template void scale_shift(const Queue&, const double*, const double*, Tile<const double>,
                          Tile<double>);

}  // namespace surrogate::kernels
