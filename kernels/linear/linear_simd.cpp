// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear/linear_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/linear/linear_gradient-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

void linear(const Linear<float>& layer, Tile<const float> x, Tile<const float> residual,
            Tile<float> y) {
    short_layer(matrix_of(layer), x, {.residual = residual}, y);
}

void linear_backward(const Linear<float>& layer, Tile<const float> dy, Tile<const float> residual,
                     bool accumulate, Tile<float> dx) {
    const Matrix transposed{layer.weight, layer.n_in, layer.n_out, 1, layer.n_in, nullptr};
    const Tile<const float> none, before = accumulate ? Tile<const float>(dx) : none;
    short_layer(transposed, dy, {.residual = residual, .before = before}, dx);
}

void linear_gradient(Tile<const float> x, Tile<const float> dy, const LinearGradient& gradient) {
    const int64_t n_point = x.shape[1];
    for (int64_t first = 0; first < n_point; first += tile_points) {
        const int64_t count = std::min(tile_points, n_point - first);
        const Tile<const float> some_x = points(x, first, count),
                                some_dy = points(dy, first, count);
        add_weights(some_x, some_dy, gradient.weight);
        if (gradient.bias) add_bias(some_dy, gradient.bias);
    }
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void linear(VectorLevel level, const Linear<float>& layer, Tile<const float> x,
            Tile<const float> residual, Tile<float> y) {
    SURROGATE_AT_LEVEL(level, linear)(layer, x, residual, y);
}

void linear_backward(VectorLevel level, const Linear<float>& layer, Tile<const float> dy,
                     Tile<const float> residual, bool accumulate, Tile<float> dx) {
    SURROGATE_AT_LEVEL(level, linear_backward)(layer, dy, residual, accumulate, dx);
}

void linear_gradient(VectorLevel level, Tile<const float> x, Tile<const float> dy,
                     const LinearGradient& gradient) {
    SURROGATE_AT_LEVEL(level, linear_gradient)(x, dy, gradient);
}

}  // namespace surrogate::kernels::simd
#endif
