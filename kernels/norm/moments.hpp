// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"

namespace surrogate::kernels {

/// Computes sums of one row of points for norms over points: sum[c] = sum_i x(c, i), square[c] =
/// sum_i x(c, i)^2, in double. The order of the sums depends on the number of points only.
///   x  (n_channel, n_point) tile of any n_point
///   sum, square  (n_channel), overwritten
template <class T>
void channel_moments(const Queue& queue, Tile<const T> x, double* sum, double* square);

/// Computes y(c, i) = x(c, i) * scale[c] + shift[c], rounded once; y may be x itself.
template <class T>
void scale_shift(const Queue& queue, const T* scale, const T* shift, Tile<const T> x, Tile<T> y);

namespace ref {
template <class T>
void channel_moments(Tile<const T> x, double* sum, double* square);
template <class T>
void scale_shift(const T* scale, const T* shift, Tile<const T> x, Tile<T> y);
}  // namespace ref
namespace simd {
void channel_moments(VectorLevel level, Tile<const float> x, double* sum, double* square);
void scale_shift(VectorLevel level, const float* scale, const float* shift, Tile<const float> x,
                 Tile<float> y);
}  // namespace simd

}  // namespace surrogate::kernels
