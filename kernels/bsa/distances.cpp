// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/dispatch.hpp"
#include "kernels/bsa/bsa.hpp"

namespace surrogate::kernels::bsa {

template <class T>
void distances(const Queue& queue, Tile<const T> a, Tile<const T> b, Tile<T> distance) {
    if (!uses_simd<T>(queue, "distances")) return ref::distances(a, b, distance);
    if constexpr (std::is_same_v<T, float>) simd::distances(queue.level(), a, b, distance);
}

template void distances(const Queue&, Tile<const float>, Tile<const float>, Tile<float>);
template void distances(const Queue&, Tile<const double>, Tile<const double>, Tile<double>);

}  // namespace surrogate::kernels::bsa
