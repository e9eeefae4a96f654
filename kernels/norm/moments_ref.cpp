// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/norm/moments.hpp"

namespace surrogate::kernels::ref {

template <class T>
void channel_moments(Tile<const T> x, double* sum, double* square) {
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        sum[c] = square[c] = 0;
        for (int64_t i = 0; i < x.shape[1]; ++i) {
            const double value = static_cast<double>(x(c, i));
            sum[c] += value;
            square[c] += value * value;
        }
    }
}

template <class T>
void scale_shift(const T* scale, const T* shift, Tile<const T> x, Tile<T> y) {
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        for (int64_t i = 0; i < x.shape[1]; ++i) y(c, i) = std::fma(x(c, i), scale[c], shift[c]);
    }
}

template void channel_moments(Tile<const float>, double*, double*);
template void channel_moments(Tile<const double>, double*, double*);
template void scale_shift(const float*, const float*, Tile<const float>, Tile<float>);
template void scale_shift(const double*, const double*, Tile<const double>, Tile<double>);

}  // namespace surrogate::kernels::ref
