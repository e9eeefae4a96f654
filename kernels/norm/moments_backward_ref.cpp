// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/moments_backward.hpp"

namespace surrogate::kernels::ref {

template <class T>
void channel_products(Tile<const T> x, Tile<const T> dy, double* sum, double* product) {
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        sum[c] = product[c] = 0;
        for (int64_t i = 0; i < x.shape[1]; ++i) {
            const double slope = static_cast<double>(dy(c, i));
            sum[c] += slope;
            product[c] += slope * static_cast<double>(x(c, i));
        }
    }
}

template <class T>
void combine_slopes(const ChannelSlope<T>* of, Tile<const T> x, Tile<const T> dy, bool accumulate,
                    Tile<T> dx) {
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        for (int64_t i = 0; i < x.shape[1]; ++i) {
            const T value =
                of[c].scale * dy(c, i) - of[c].slope * (x(c, i) - of[c].mean) - of[c].shift;
            dx(c, i) = accumulate ? dx(c, i) + value : value;
        }
    }
}

#define SURROGATE_MOMENTS_BACKWARD(T)                                                        \
    template void channel_products(Tile<const T>, Tile<const T>, double*, double*);          \
    template void combine_slopes(const ChannelSlope<T>*, Tile<const T>, Tile<const T>, bool, \
                                 Tile<T>);
SURROGATE_MOMENTS_BACKWARD(float)
SURROGATE_MOMENTS_BACKWARD(double)
#undef SURROGATE_MOMENTS_BACKWARD

}  // namespace surrogate::kernels::ref
