// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/bsa/bsa.hpp"

namespace surrogate::kernels::bsa::ref {

template <class T>
void distances(Tile<const T> a, Tile<const T> b, Tile<T> distance) {
    for (int64_t j = 0; j < b.shape[1]; ++j) {
        for (int64_t i = 0; i < a.shape[1]; ++i) {
            T square = 0;
            for (int64_t axis = 0; axis < a.shape[0]; ++axis) {
                const T difference = b(axis, j) - a(axis, i);
                square = std::fma(difference, difference, square);
            }
            distance(j, i) = std::sqrt(square);
        }
    }
}

template void distances(Tile<const float>, Tile<const float>, Tile<float>);
template void distances(Tile<const double>, Tile<const double>, Tile<double>);

}  // namespace surrogate::kernels::bsa::ref
