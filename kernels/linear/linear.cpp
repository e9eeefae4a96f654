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

template void linear(const Queue&, const Linear<float>&, Tile<const float>, Tile<const float>,
                     Tile<float>);
template void linear(const Queue&, const Linear<double>&, Tile<const double>, Tile<const double>,
                     Tile<double>);

}  // namespace surrogate::kernels
