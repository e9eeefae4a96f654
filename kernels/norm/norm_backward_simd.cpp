// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/norm_backward_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "kernels/base/point_sum-inl.h"
#include "kernels/norm/norm.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

/// Statistics of tile_points points in the formula: `slope` is mean(g h).
struct Points {
    float mean[tile_points], scale[tile_points], mean_g[tile_points], slope[tile_points];
};

/// Computes the statistics of one vector of points; x and dy point at channel 0. Channels are in
/// order.
HWY_INLINE void read_points(const Norm<float>& norm, Tile<const float> x, Tile<const float> dy,
                            int64_t i, Points& points) {
    const int64_t n_channel = x.shape[0];
    const Vector inverse_count = broadcast(1.0f / static_cast<float>(n_channel));
    const bool is_centred = norm.kind == NormKind::layer;
    Vector mean = broadcast(0.0f);
    if (is_centred) {
        for (int64_t c = 0; c < n_channel; ++c) mean = hn::Add(mean, load(&x(c, i)));
        mean = hn::Mul(mean, inverse_count);
    }
    Vector square = broadcast(0.0f), sum_g = broadcast(0.0f), sum_gh = broadcast(0.0f);
    for (int64_t c = 0; c < n_channel; ++c) {
        const Vector centred = hn::Sub(load(&x(c, i)), mean);
        const Vector g = hn::Mul(load(&dy(c, i)), broadcast(norm.weight[c]));
        square = mul_add(centred, centred, square);
        sum_g = hn::Add(sum_g, g);
        sum_gh = mul_add(g, centred, sum_gh);
    }
    const Vector variance = mul_add(square, inverse_count, broadcast(norm.eps));
    const Vector scale = hn::Div(broadcast(1.0f), hn::Sqrt(variance));
    store(mean, points.mean + i);
    store(scale, points.scale + i);
    store(is_centred ? hn::Mul(sum_g, inverse_count) : broadcast(0.0f), points.mean_g + i);
    store(hn::Mul(hn::Mul(sum_gh, inverse_count), scale), points.slope + i);
}

/// Computes dx of one channel, and its sums of dy h and of dy.
HWY_INLINE void write_channel(const float* x, const float* dy, float weight, const float* residual,
                              const Points& points, int64_t n_point, float* dx, PointSum& sum_h,
                              PointSum& sum) {
    for (int64_t group = 0; group < n_point; group += lane_count) {
        for (int j = 0; j < PointSum::n_part; ++j) {
            const int64_t i = group + j * width;
            const Vector scale = load(points.scale + i), change = load(dy + i);
            const Vector h = hn::Mul(hn::Sub(load(x + i), load(points.mean + i)), scale);
            const Vector g = hn::Sub(hn::Mul(change, broadcast(weight)), load(points.mean_g + i));
            const Vector inner = hn::Sub(g, hn::Mul(h, load(points.slope + i)));
            sum_h.add(j, first_lanes(hn::Mul(change, h), n_point - i));
            sum.add(j, first_lanes(change, n_point - i));
            const Vector value = hn::Mul(scale, inner);
            store(residual ? hn::Add(value, load(residual + i)) : value, dx + i);
        }
    }
}

void normalise_backward(const Norm<float>& norm, Tile<const float> x, Tile<const float> dy,
                        Tile<const float> residual, Tile<float> dx, const NormGradient& gradient) {
    Points points;
    for (int64_t first = 0; first < x.shape[1]; first += tile_points) {
        const int64_t count = std::min(tile_points, x.shape[1] - first);
        const Tile<const float> some_x = kernels::points(x, first, count);
        const Tile<const float> some_dy = kernels::points(dy, first, count);
        for (int64_t i = 0; i < round_up(count, lane_count); i += width)
            read_points(norm, some_x, some_dy, i, points);
        for (int64_t c = 0; c < x.shape[0]; ++c) {
            PointSum sum_h, sum;
            const float* before = residual.data ? &residual(c, first) : nullptr;
            write_channel(&some_x(c, 0), &some_dy(c, 0), norm.weight[c], before, points, count,
                          &dx(c, first), sum_h, sum);
            if (gradient.weight) gradient.weight[c] += static_cast<double>(sum_h.join());
            if (gradient.bias) gradient.bias[c] += static_cast<double>(sum.join());
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void normalise_backward(VectorLevel level, const Norm<float>& norm, Tile<const float> x,
                        Tile<const float> dy, Tile<const float> residual, Tile<float> dx,
                        const NormGradient& gradient) {
    SURROGATE_AT_LEVEL(level, normalise_backward)(norm, x, dy, residual, dx, gradient);
}

}  // namespace surrogate::kernels::simd
#endif
