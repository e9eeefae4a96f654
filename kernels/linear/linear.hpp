// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"

namespace surrogate::kernels {

/// An affine layer as PyTorch stores it: weight (n_out, n_in) row-major and contiguous, bias
/// (n_out) or null. The caller owns the memory.
template <class T>
struct Linear {
    int64_t n_in = 0;
    int64_t n_out = 0;
    const T* weight = nullptr;
    const T* bias = nullptr;
};

/// Computes y(o, i) = bias(o) + sum_c weight(o, c) x(c, i) [+ residual(o, i)].
///   x (n_in, n_point), y and residual (n_out, n_point) tiles; residual.data null means none
/// y may be residual itself; otherwise no overlap. The sum starts at the bias, runs over c in order
/// and ends with the residual, by fused multiply-add in simd. It is bitwise identical on every SIMD
/// instruction set.
template <class T>
void linear(const Queue& queue, const Linear<T>& layer, Tile<const T> x, Tile<const T> residual,
            Tile<T> y);

/// Computes dx(c, i) = sum_o weight(o, c) dy(o, i) [+ residual(c, i)] [+ dx(c, i) if `accumulate`].
///   dy (n_out, n_point), dx and residual (n_in, n_point) tiles; residual.data null means none
/// dx may be residual itself; otherwise no overlap. The sum starts at 0, runs over o in order and
/// ends with residual and dx, fused as in linear(). It is bitwise identical on every SIMD
/// instruction set.
template <class T>
void linear_backward(const Queue& queue, const Linear<T>& layer, Tile<const T> dy,
                     Tile<const T> residual, bool accumulate, Tile<T> dx);

/// Sums of the gradients of a layer's parameters: weight (n_out, n_in), bias (n_out) or null, in
/// the layout of Linear. The caller owns the memory. weight null: nothing is summed.
/// The sums are double in both precisions: the sums of a step have as many terms as the mesh has
/// points, and a float sum of n tiles has an error of up to n 2^-24 of the sum of sizes.
struct LinearGradient {
    double* weight = nullptr;
    double* bias = nullptr;
};

/// Adds weight(o, c) += sum_i dy(o, i) x(c, i),  bias(o) += sum_i dy(o, i).
///   x (n_in, n_point), dy (n_out, n_point) tiles, any n_point; nothing overlaps
/// simd sums tile_points points in float, then adds to the doubles: in order of points for weight,
/// in lane_count partial sums for bias. Error at most 65 2^-24 of the sum of sizes. Results are
/// bitwise identical on every SIMD instruction set, and for any partition into tiles at multiples
/// of tile_points. Calls that add to the same memory must have a fixed order to be bitwise
/// reproducible: threads use memory of their own, and the caller joins it.
template <class T>
void linear_gradient(const Queue& queue, Tile<const T> x, Tile<const T> dy,
                     const LinearGradient& gradient);

namespace ref {
template <class T>
void linear(const Linear<T>& layer, Tile<const T> x, Tile<const T> residual, Tile<T> y);
template <class T>
void linear_backward(const Linear<T>& layer, Tile<const T> dy, Tile<const T> residual,
                     bool accumulate, Tile<T> dx);
template <class T>
void linear_gradient(Tile<const T> x, Tile<const T> dy, const LinearGradient& gradient);
}  // namespace ref
namespace simd {
void linear(VectorLevel level, const Linear<float>& layer, Tile<const float> x,
            Tile<const float> residual, Tile<float> y);
void linear_backward(VectorLevel level, const Linear<float>& layer, Tile<const float> dy,
                     Tile<const float> residual, bool accumulate, Tile<float> dx);
void linear_gradient(VectorLevel level, Tile<const float> x, Tile<const float> dy,
                     const LinearGradient& gradient);
}  // namespace simd

}  // namespace surrogate::kernels
