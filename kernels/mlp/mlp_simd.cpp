// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mlp/mlp_simd.cpp"
#include <hwy/foreach_target.h>

#include <utility>

#include "kernels/linear/linear-inl.h"
#include "kernels/mlp/mlp.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

/// Layers go to and fro between the halves of `scratch`; activation and residual are added before a
/// sum is stored.
void residual_mlp(const ResidualMlp<float>& mlp, Tile<const float> x, Tile<float> scratch,
                  bool accumulate, Tile<float> y) {
    const Tile<const float> none, before = accumulate ? Tile<const float>(y) : none;
    const auto& layers = mlp.layers;
    const size_t n_layer = layers.size();
    if (n_layer == 1) {
        const bool residual = mlp.residual_in && mlp.residual_out && mlp.n_in() == mlp.n_out();
        return linear_layer(layers[0], x, {Activation::identity, residual ? x : none, before}, y);
    }
    const int64_t n_hidden = mlp.n_hidden();
    Tile<float> a = channels(scratch, 0, n_hidden), next = channels(scratch, n_hidden, n_hidden);
    a.shape[1] = next.shape[1] = x.shape[1];

    const bool residual_in = mlp.residual_in && mlp.n_in() == n_hidden;
    linear_layer(layers[0], x, {mlp.activation, residual_in ? x : none, none}, a);
    for (size_t j = 1; j + 1 < n_layer; ++j) {
        linear_layer(layers[j], a, {mlp.activation, a, none}, next);
        std::swap(a, next);
    }
    const bool residual_out = mlp.residual_out && n_hidden == mlp.n_out();
    linear_layer(layers[n_layer - 1], a,
                 {Activation::identity, residual_out ? Tile<const float>(a) : none, before}, y);
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void residual_mlp(VectorLevel level, const ResidualMlp<float>& mlp, Tile<const float> x,
                  Tile<float> scratch, bool accumulate, Tile<float> y) {
    SURROGATE_AT_LEVEL(level, residual_mlp)(mlp, x, scratch, accumulate, y);
}

}  // namespace surrogate::kernels::simd
#endif
