// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear/linear_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/linear/linear-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

void linear(const Linear<float>& layer, Tile<const float> x, Tile<const float> residual,
            Tile<float> y) {
    linear_layer<Activation::identity>(layer, x, {Activation::identity, residual, {}}, y);
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

}  // namespace surrogate::kernels::simd
#endif
