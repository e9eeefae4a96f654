// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mlp/mlp_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/linear/linear-inl.h"
#include "kernels/mlp/mlp.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

/// Tiles to which layer j writes its result and, unless null, its sum.
struct Place {
    Tile<float> sum, result;
};

/// Computes the layers. Activation and residual are added before a sum is stored.
template <class PlaceOf>
void chain(const ResidualMlp<float>& mlp, Tile<const float> x, const PlaceOf& place_of,
           bool accumulate, Tile<float> y) {
    const size_t last = mlp.layers.size() - 1;
    const Tile<const float> none, before = accumulate ? Tile<const float>(y) : none;
    Tile<const float> a = x;
    for (size_t j = 0; j < last; ++j) {
        Place place = place_of(j);
        place.result.shape[1] = x.shape[1];
        const bool residual = j > 0 || mlp.adds_input();
        linear_layer(mlp.layers[j], a, {mlp.activation, residual ? a : none, none, place.sum},
                     place.result);
        a = place.result;
    }
    const bool residual = last > 0 ? mlp.adds_hidden() : mlp.adds_input();
    linear_layer(mlp.layers[last], a, {Activation::identity, residual ? a : none, before, {}}, y);
}

void residual_mlp(const ResidualMlp<float>& mlp, Tile<const float> x, Tile<float> scratch,
                  bool accumulate, Tile<float> y) {
    const auto place_of = [&](size_t j) -> Place {
        const int64_t n_hidden = mlp.n_hidden();
        return {{}, channels(scratch, j % 2 == 0 ? 0 : n_hidden, n_hidden)};
    };
    chain(mlp, x, place_of, accumulate, y);
}

void residual_mlp_forward(const ResidualMlp<float>& mlp, Tile<const float> x, Tile<float> saved,
                          bool accumulate, Tile<float> y) {
    const auto place_of = [&](size_t j) -> Place {
        return {mlp.saved_sum(saved, j), mlp.saved_result(saved, j)};
    };
    chain(mlp, x, place_of, accumulate, y);
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

void residual_mlp_forward(VectorLevel level, const ResidualMlp<float>& mlp, Tile<const float> x,
                          Tile<float> saved, bool accumulate, Tile<float> y) {
    SURROGATE_AT_LEVEL(level, residual_mlp_forward)(mlp, x, saved, accumulate, y);
}

}  // namespace surrogate::kernels::simd
#endif
