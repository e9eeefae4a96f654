// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/norm_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/base/vector-inl.h"
#include "kernels/norm/norm.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

/// Some vectors of points over the channels: x and y point at channel 0.
struct Columns {
    int64_t n_channel, x_row, y_row;
    float inverse_count;
};

HWY_INLINE Vector inverse_root(Vector mean_square, float eps) {
    return hn::Div(broadcast(1.0f), hn::Sqrt(hn::Add(mean_square, broadcast(eps))));
}

/// Number of vectors that are processed together: a single sum would wait for its own results.
constexpr int n_together = 4;

/// Calls body(j, x) for n vectors from `x` on.
template <int n, class Body>
HWY_INLINE void each(const float* x, const Body& body) {
#pragma GCC unroll 4
    for (int j = 0; j < n; ++j) body(j, load(x + j * width));
}

template <int n>
HWY_NOINLINE void layer_norm(const Columns& columns, const Norm<float>& norm, const float* x,
                             float* y) {
    const auto [n_channel, x_row, y_row, inverse_count] = columns;
    Vector mean[n], scale[n];
    for (int j = 0; j < n; ++j) mean[j] = scale[j] = broadcast(0.0f);
    for (int64_t c = 0; c < n_channel; ++c)
        each<n>(x + c * x_row, [&](int j, Vector v) HWY_ATTR { mean[j] = hn::Add(mean[j], v); });
    for (int j = 0; j < n; ++j) mean[j] = hn::Mul(mean[j], broadcast(inverse_count));
    for (int64_t c = 0; c < n_channel; ++c)
        each<n>(x + c * x_row, [&](int j, Vector v) HWY_ATTR {
            const Vector centred = hn::Sub(v, mean[j]);
            scale[j] = mul_add(centred, centred, scale[j]);
        });
    for (int j = 0; j < n; ++j)
        scale[j] = inverse_root(hn::Mul(scale[j], broadcast(inverse_count)), norm.eps);
    for (int64_t c = 0; c < n_channel; ++c)
        each<n>(x + c * x_row, [&](int j, Vector v) HWY_ATTR {
            const Vector unit = hn::Mul(hn::Sub(v, mean[j]), scale[j]);
            store(mul_add(unit, broadcast(norm.weight[c]), broadcast(norm.bias[c])),
                  y + c * y_row + j * width);
        });
}

template <int n>
HWY_NOINLINE void rms_norm(const Columns& columns, const Norm<float>& norm, const float* x,
                           float* y) {
    const auto [n_channel, x_row, y_row, inverse_count] = columns;
    Vector scale[n];
    for (int j = 0; j < n; ++j) scale[j] = broadcast(0.0f);
    for (int64_t c = 0; c < n_channel; ++c)
        each<n>(x + c * x_row,
                [&](int j, Vector v) HWY_ATTR { scale[j] = mul_add(v, v, scale[j]); });
    for (int j = 0; j < n; ++j)
        scale[j] = inverse_root(hn::Mul(scale[j], broadcast(inverse_count)), norm.eps);
    for (int64_t c = 0; c < n_channel; ++c)
        each<n>(x + c * x_row, [&](int j, Vector v) HWY_ATTR {
            store(hn::Mul(hn::Mul(v, scale[j]), broadcast(norm.weight[c])),
                  y + c * y_row + j * width);
        });
}

void normalise(const Norm<float>& norm, Tile<const float> x, Tile<float> y) {
    const int64_t n_channel = x.shape[0], n_lane = round_up(x.shape[1], lane_count);
    const Columns columns{n_channel, x.stride[0], y.stride[0],
                          1.0f / static_cast<float>(n_channel)};
    const auto run = [&](int64_t i, auto n) HWY_ATTR {
        constexpr int n_vector = decltype(n)::value;
        if (norm.kind == NormKind::layer)
            layer_norm<n_vector>(columns, norm, x.data + i, y.data + i);
        if (norm.kind == NormKind::rms) rms_norm<n_vector>(columns, norm, x.data + i, y.data + i);
    };
    int64_t i = 0;
    for (; i + n_together * width <= n_lane; i += n_together * width)
        run(i, std::integral_constant<int, n_together>());
    for (; i < n_lane; i += width) run(i, std::integral_constant<int, 1>());
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void normalise(VectorLevel level, const Norm<float>& norm, Tile<const float> x, Tile<float> y) {
    SURROGATE_AT_LEVEL(level, normalise)(norm, x, y);
}

}  // namespace surrogate::kernels::simd
#endif
