// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"

namespace surrogate::kernels {

// Backward pass of norms over points (channel_moments, scale_shift). With r = 1 / sqrt(var + eps)
// and h = (x - mean) r:
//   dweight = sum_i dy h,  dbias = sum_i dy,  dx = r weight (dy - mean(dy) - h mean(dy h))

/// Computes the contributions of a row of points to the sums: sum[c] = sum_i dy(c, i), product[c] =
/// sum_i dy(c, i) x(c, i), in double, in the order of channel_moments().
///   x, dy  (n_channel, n_point) tiles of any n_point
///   sum, product  (n_channel), overwritten
template <class T>
void channel_products(const Queue& queue, Tile<const T> x, Tile<const T> dy, double* sum,
                      double* product);

/// Coefficients of a channel in the backward pass: dx = scale dy - slope (x - mean) - shift, which
/// is the formula above with scale = r weight, slope = scale r mean(dy h), shift = scale mean(dy).
template <class T>
struct ChannelSlope {
    T scale = 0, mean = 0, slope = 0, shift = 0;
};

/// Computes dx(c, i) [+]= scale dy(c, i) - slope (x(c, i) - mean) - shift; dx may be dy itself
/// unless it accumulates.
///   of  (n_channel)
///   x, dy, dx  (n_channel, n_point) tiles of any n_point
template <class T>
void combine_slopes(const Queue& queue, const ChannelSlope<T>* of, Tile<const T> x,
                    Tile<const T> dy, bool accumulate, Tile<T> dx);

namespace ref {
template <class T>
void channel_products(Tile<const T> x, Tile<const T> dy, double* sum, double* product);
template <class T>
void combine_slopes(const ChannelSlope<T>* of, Tile<const T> x, Tile<const T> dy, bool accumulate,
                    Tile<T> dx);
}  // namespace ref
namespace simd {
void channel_products(VectorLevel level, Tile<const float> x, Tile<const float> dy, double* sum,
                      double* product);
void combine_slopes(VectorLevel level, const ChannelSlope<float>* of, Tile<const float> x,
                    Tile<const float> dy, bool accumulate, Tile<float> dx);
}  // namespace simd

}  // namespace surrogate::kernels
