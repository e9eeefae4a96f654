// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mlp/swiglu_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/linear/linear-inl.h"
#include "kernels/mlp/swiglu.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

/// Computes the gate's sum, silu and product after each block of rows of W1.
void chain(const SwiGlu<float>& mlp, Tile<const float> x, Tile<float> u, Tile<float> w,
           Tile<float> product, bool accumulate, Tile<float> y) {
    const Tile<const float> before = accumulate ? Tile<const float>(y) : Tile<const float>{};
    product.shape[1] = x.shape[1];
    short_layer(matrix_of(mlp.w2), x, {}, w);
    const Epilogue gate{.activation = Activation::silu, .sum = u, .factor = w};
    long_layer<Activation::silu>(matrix_of(mlp.w1), x, gate, product);
    short_layer(matrix_of(mlp.w3), product, {.before = before}, y);
}

void swiglu(const SwiGlu<float>& mlp, Tile<const float> x, Tile<float> scratch, bool accumulate,
            Tile<float> y) {
    const int64_t n = mlp.n_hidden();
    chain(mlp, x, {}, channels(scratch, n, n), channels(scratch, 0, n), accumulate, y);
}

void swiglu_forward(const SwiGlu<float>& mlp, Tile<const float> x, Tile<float> saved,
                    Tile<float> scratch, bool accumulate, Tile<float> y) {
    const int64_t n = mlp.n_hidden();
    chain(mlp, x, channels(saved, 0, n), channels(saved, n, n), channels(scratch, 0, n), accumulate,
          y);
}

void swiglu_product_backward(Tile<const float> u, Tile<const float> w, Tile<float> t,
                             Tile<float> du, Tile<float> dw) {
    for (int64_t c = 0; c < t.shape[0]; ++c) {
        for (int64_t i = 0; i < round_up(t.shape[1], lane_count); i += width) {
            Vector a[1] = {load(&u(c, i))}, slope[1] = {a[0]};
            activate_vectors<Activation::silu>(a);
            activation_slopes<Activation::silu>(slope);
            const Vector gate = load(&w(c, i)), from = load(&t(c, i));
            store(hn::Mul(hn::Mul(from, gate), slope[0]), &du(c, i));
            store(hn::Mul(from, a[0]), &dw(c, i));
            store(hn::Mul(gate, a[0]), &t(c, i));
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void swiglu(VectorLevel level, const SwiGlu<float>& mlp, Tile<const float> x, Tile<float> scratch,
            bool accumulate, Tile<float> y) {
    SURROGATE_AT_LEVEL(level, swiglu)(mlp, x, scratch, accumulate, y);
}

void swiglu_forward(VectorLevel level, const SwiGlu<float>& mlp, Tile<const float> x,
                    Tile<float> saved, Tile<float> scratch, bool accumulate, Tile<float> y) {
    SURROGATE_AT_LEVEL(level, swiglu_forward)(mlp, x, saved, scratch, accumulate, y);
}

void swiglu_product_backward(VectorLevel level, Tile<const float> u, Tile<const float> w,
                             Tile<float> t, Tile<float> du, Tile<float> dw) {
    SURROGATE_AT_LEVEL(level, swiglu_product_backward)(u, w, t, du, dw);
}

}  // namespace surrogate::kernels::simd
#endif
