// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/activation.hpp"

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels {

template <class T>
void activate(const Queue& queue, Activation kind, Tile<const T> x, Tile<T> y) {
    if (!uses_simd<T>(queue, "activate")) return ref::activate(kind, x, y);
    if constexpr (std::is_same_v<T, float>) simd::activate(queue.level(), kind, x, y);
}

template <class T>
void activate_backward(const Queue& queue, Activation kind, Tile<const T> x, Tile<const T> dy,
                       Tile<T> dx) {
    if (!uses_simd<T>(queue, "activate_backward")) return ref::activate_backward(kind, x, dy, dx);
    if constexpr (std::is_same_v<T, float>) simd::activate_backward(queue.level(), kind, x, dy, dx);
}

template void activate(const Queue&, Activation, Tile<const float>, Tile<float>);
template void activate(const Queue&, Activation, Tile<const double>, Tile<double>);
template void activate_backward(const Queue&, Activation, Tile<const float>, Tile<const float>,
                                Tile<float>);
template void activate_backward(const Queue&, Activation, Tile<const double>, Tile<const double>,
                                Tile<double>);

}  // namespace surrogate::kernels
