// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"

namespace surrogate::kernels {

enum class NormKind {
    layer,  ///< (x - mean) / sqrt(var + eps) * weight + bias, biased variance
    rms,    ///< x / sqrt(mean(x^2) + eps) * weight
};

/// Normalization over channels. weight, bias (n_channel); bias is null for rms. The caller owns the
/// memory.
template <class T>
struct Norm {
    NormKind kind = NormKind::layer;
    T eps = T(1e-5);
    const T* weight = nullptr;
    const T* bias = nullptr;
};

/// Normalizes each point of x over its channels. x, y (n_channel, n_point) tiles; y may be x
/// itself, no other overlap. Sums over channels are in order, in float for float, and bitwise
/// identical on every SIMD instruction set. Source: Ba et al., arXiv:1607.06450; Zhang and
/// Sennrich, arXiv:1910.07467.
template <class T>
void normalise(const Queue& queue, const Norm<T>& norm, Tile<const T> x, Tile<T> y);

/// Sums of the gradients of a norm's parameters, in double as in LinearGradient: weight, bias
/// (n_channel); bias is null for rms. The caller owns the memory. weight null: nothing is summed.
struct NormGradient {
    double* weight = nullptr;
    double* bias = nullptr;
};

/// Computes the gradients of a norm. With r = 1 / sqrt(var + eps), h = (x - mean) r, g(c) = dy(c)
/// weight(c) at each point, and means over channels (for rms, mean of x^2 for var, and 0 for the
/// means of x and g):
///   dx = r (g - mean(g) - h mean(g h)) [+ residual]
///   weight(c) += sum_i dy(c, i) h(c, i),  bias(c) += sum_i dy(c, i)
///   x, dy, residual, dx (n_channel, n_point) tiles, any n_point; residual.data null means none
/// dx may be x, dy or residual itself; no other overlap. mean and r are recomputed from x: this
/// takes two passes over values in cache, and nothing has to be saved. Gradients are summed over
/// tile_points points in lane_count partial sums of floats, then in doubles; rounding and order of
/// calls are as in linear_gradient().
template <class T>
void normalise_backward(const Queue& queue, const Norm<T>& norm, Tile<const T> x, Tile<const T> dy,
                        Tile<const T> residual, Tile<T> dx, const NormGradient& gradient);

namespace ref {
template <class T>
void normalise(const Norm<T>& norm, Tile<const T> x, Tile<T> y);
template <class T>
void normalise_backward(const Norm<T>& norm, Tile<const T> x, Tile<const T> dy,
                        Tile<const T> residual, Tile<T> dx, const NormGradient& gradient);
}  // namespace ref
namespace simd {
void normalise(VectorLevel level, const Norm<float>& norm, Tile<const float> x, Tile<float> y);
void normalise_backward(VectorLevel level, const Norm<float>& norm, Tile<const float> x,
                        Tile<const float> dy, Tile<const float> residual, Tile<float> dx,
                        const NormGradient& gradient);
}  // namespace simd

}  // namespace surrogate::kernels
