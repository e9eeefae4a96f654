// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation/activation_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/activation/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

template <Activation kind, int n>
HWY_INLINE void activate_at(const float* from, float* to) {
    Vector u[n];
#pragma GCC unroll 4
    for (int j = 0; j < n; ++j) u[j] = load(from + j * width);
    activate_vectors<kind>(u);
#pragma GCC unroll 4
    for (int j = 0; j < n; ++j) store(u[j], to + j * width);
}

template <Activation kind>
void activate_tile(Tile<const float> x, Tile<float> y) {
    const int64_t n_lane = round_up(x.shape[1], lane_count);
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        const float* from = x.data + c * x.stride[0];
        float* to = y.data + c * y.stride[0];
        int64_t i = 0;
        for (; i + 4 * width <= n_lane; i += 4 * width) activate_at<kind, 4>(from + i, to + i);
        for (; i < n_lane; i += width) activate_at<kind, 1>(from + i, to + i);
    }
}

void activate(Activation kind, Tile<const float> x, Tile<float> y) {
    switch (kind) {
        case Activation::identity: return activate_tile<Activation::identity>(x, y);
        case Activation::gelu_tanh: return activate_tile<Activation::gelu_tanh>(x, y);
        case Activation::silu: return activate_tile<Activation::silu>(x, y);
        case Activation::gelu: return activate_tile<Activation::gelu>(x, y);
        case Activation::relu: return activate_tile<Activation::relu>(x, y);
        case Activation::tanh: return activate_tile<Activation::tanh>(x, y);
    }
}

template <Activation kind, int n>
HWY_INLINE void backward_at(const float* x, const float* dy, float* dx) {
    Vector slope[n];
#pragma GCC unroll 4
    for (int j = 0; j < n; ++j) slope[j] = load(x + j * width);
    activation_slopes<kind>(slope);
#pragma GCC unroll 4
    for (int j = 0; j < n; ++j) store(hn::Mul(load(dy + j * width), slope[j]), dx + j * width);
}

template <Activation kind>
void backward_tile(Tile<const float> x, Tile<const float> dy, Tile<float> dx) {
    const int64_t n_lane = round_up(x.shape[1], lane_count);
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        const float* at = x.data + c * x.stride[0];
        const float* from = dy.data + c * dy.stride[0];
        float* to = dx.data + c * dx.stride[0];
        int64_t i = 0;
        for (; i + 4 * width <= n_lane; i += 4 * width)
            backward_at<kind, 4>(at + i, from + i, to + i);
        for (; i < n_lane; i += width) backward_at<kind, 1>(at + i, from + i, to + i);
    }
}

void activate_backward(Activation kind, Tile<const float> x, Tile<const float> dy, Tile<float> dx) {
    switch (kind) {
        case Activation::identity: return backward_tile<Activation::identity>(x, dy, dx);
        case Activation::gelu_tanh: return backward_tile<Activation::gelu_tanh>(x, dy, dx);
        case Activation::silu: return backward_tile<Activation::silu>(x, dy, dx);
        case Activation::gelu: return backward_tile<Activation::gelu>(x, dy, dx);
        case Activation::relu: return backward_tile<Activation::relu>(x, dy, dx);
        case Activation::tanh: return backward_tile<Activation::tanh>(x, dy, dx);
    }
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void activate(VectorLevel level, Activation kind, Tile<const float> x, Tile<float> y) {
    SURROGATE_AT_LEVEL(level, activate)(kind, x, y);
}

void activate_backward(VectorLevel level, Activation kind, Tile<const float> x,
                       Tile<const float> dy, Tile<float> dx) {
    SURROGATE_AT_LEVEL(level, activate_backward)(kind, x, dy, dx);
}

}  // namespace surrogate::kernels::simd
#endif
