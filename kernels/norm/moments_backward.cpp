// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/moments_backward.hpp"

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels {

template <class T>
void channel_products(const Queue& queue, Tile<const T> x, Tile<const T> dy, double* sum,
                      double* product) {
    if (!uses_simd<T>(queue, "channel_products")) return ref::channel_products(x, dy, sum, product);
    if constexpr (std::is_same_v<T, float>)
        simd::channel_products(queue.level(), x, dy, sum, product);
}

template <class T>
void combine_slopes(const Queue& queue, const ChannelSlope<T>* of, Tile<const T> x,
                    Tile<const T> dy, bool accumulate, Tile<T> dx) {
    if (!uses_simd<T>(queue, "combine_slopes"))
        return ref::combine_slopes(of, x, dy, accumulate, dx);
    if constexpr (std::is_same_v<T, float>)
        simd::combine_slopes(queue.level(), of, x, dy, accumulate, dx);
}

#define SURROGATE_MOMENTS_BACKWARD(T)                                                             \
    template void channel_products(const Queue&, Tile<const T>, Tile<const T>, double*, double*); \
    template void combine_slopes(const Queue&, const ChannelSlope<T>*, Tile<const T>,             \
                                 Tile<const T>, bool, Tile<T>);
SURROGATE_MOMENTS_BACKWARD(float)
SURROGATE_MOMENTS_BACKWARD(double)
#undef SURROGATE_MOMENTS_BACKWARD

}  // namespace surrogate::kernels
