// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/norm.hpp"

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels {

template <class T>
void normalise(const Queue& queue, const Norm<T>& norm, Tile<const T> x, Tile<T> y) {
    if (!uses_simd<T>(queue, "normalize")) return ref::normalise(norm, x, y);
    if constexpr (std::is_same_v<T, float>) simd::normalise(queue.level(), norm, x, y);
}

template <class T>
void normalise_backward(const Queue& queue, const Norm<T>& norm, Tile<const T> x, Tile<const T> dy,
                        Tile<const T> residual, Tile<T> dx, const NormGradient& gradient) {
    if (!uses_simd<T>(queue, "normalize_backward"))
        return ref::normalise_backward(norm, x, dy, residual, dx, gradient);
    if constexpr (std::is_same_v<T, float>)
        simd::normalise_backward(queue.level(), norm, x, dy, residual, dx, gradient);
}

template void normalise(const Queue&, const Norm<float>&, Tile<const float>, Tile<float>);
template void normalise(const Queue&, const Norm<double>&, Tile<const double>, Tile<double>);
template void normalise_backward(const Queue&, const Norm<float>&, Tile<const float>,
                                 Tile<const float>, Tile<const float>, Tile<float>,
                                 const NormGradient&);
template void normalise_backward(const Queue&, const Norm<double>&, Tile<const double>,
                                 Tile<const double>, Tile<const double>, Tile<double>,
                                 const NormGradient&);

}  // namespace surrogate::kernels
