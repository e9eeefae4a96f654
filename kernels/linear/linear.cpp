// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/linear.hpp"

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels {

template <class T>
void linear(const Queue& queue, const Linear<T>& layer, Tile<const T> x, Tile<const T> residual,
            Tile<T> y) {
    if (!uses_simd<T>(queue, "linear")) return ref::linear(layer, x, residual, y);
    if constexpr (std::is_same_v<T, float>) simd::linear(queue.level(), layer, x, residual, y);
}

template <class T>
void linear_backward(const Queue& queue, const Linear<T>& layer, Tile<const T> dy,
                     Tile<const T> residual, bool accumulate, Tile<T> dx) {
    if (!uses_simd<T>(queue, "linear_backward"))
        return ref::linear_backward(layer, dy, residual, accumulate, dx);
    if constexpr (std::is_same_v<T, float>)
        simd::linear_backward(queue.level(), layer, dy, residual, accumulate, dx);
}

template <class T>
void linear_gradient(const Queue& queue, Tile<const T> x, Tile<const T> dy,
                     const LinearGradient& gradient) {
    if (!gradient.weight) return;
    if (!uses_simd<T>(queue, "linear_gradient")) return ref::linear_gradient(x, dy, gradient);
    if constexpr (std::is_same_v<T, float>) simd::linear_gradient(queue.level(), x, dy, gradient);
}

template void linear(const Queue&, const Linear<float>&, Tile<const float>, Tile<const float>,
                     Tile<float>);
template void linear(const Queue&, const Linear<double>&, Tile<const double>, Tile<const double>,
                     Tile<double>);
template void linear_backward(const Queue&, const Linear<float>&, Tile<const float>,
                              Tile<const float>, bool, Tile<float>);
template void linear_backward(const Queue&, const Linear<double>&, Tile<const double>,
                              Tile<const double>, bool, Tile<double>);
template void linear_gradient(const Queue&, Tile<const float>, Tile<const float>,
                              const LinearGradient&);
template void linear_gradient(const Queue&, Tile<const double>, Tile<const double>,
                              const LinearGradient&);

}  // namespace surrogate::kernels
