// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/embedding/embedding_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/embedding/embedding.hpp"
#include "kernels/embedding/sine-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

void fourier_features(int64_t n_feature, const float* weight, Tile<const float> p, Tile<float> f) {
    const auto [n_dim, n_point] = p.shape;
    for (int64_t c = 0; c < n_feature; ++c) {
        for (int64_t i = 0; i < round_up(n_point, lane_count); i += width) {
            Vector angle = broadcast(0.0f), cos, sin;
            for (int64_t k = 0; k < n_dim; ++k)
                angle = mul_add(broadcast(weight[c * n_dim + k]), load(&p(k, i)), angle);
            cos_sin(angle, cos, sin);
            store(cos, &f(c, i));
            store(sin, &f(n_feature + c, i));
        }
    }
}

void fourier_angles_backward(Tile<const float> f, Tile<const float> df, Tile<float> da) {
    const auto [n_feature, n_point] = da.shape;
    for (int64_t c = 0; c < n_feature; ++c) {
        for (int64_t i = 0; i < round_up(n_point, lane_count); i += width) {
            const Vector of_sin = hn::Mul(load(&f(c, i)), load(&df(n_feature + c, i)));
            const Vector minus_sin = hn::Sub(broadcast(0.0f), load(&f(n_feature + c, i)));
            store(mul_add(minus_sin, load(&df(c, i)), of_sin), &da(c, i));
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void fourier_features(VectorLevel level, int64_t n_feature, const float* weight,
                      Tile<const float> p, Tile<float> f) {
    SURROGATE_AT_LEVEL(level, fourier_features)(n_feature, weight, p, f);
}

void fourier_angles_backward(VectorLevel level, Tile<const float> f, Tile<const float> df,
                             Tile<float> da) {
    SURROGATE_AT_LEVEL(level, fourier_angles_backward)(f, df, da);
}

}  // namespace surrogate::kernels::simd
#endif
