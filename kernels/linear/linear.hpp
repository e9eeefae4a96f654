// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"

namespace surrogate::kernels {

/// An affine layer as PyTorch stores it: weight (n_out, n_in) row-major and contiguous, bias
/// (n_out) or null. Memory belongs to the caller.
template <class T>
struct Linear {
    int64_t n_in = 0;
    int64_t n_out = 0;
    const T* weight = nullptr;
    const T* bias = nullptr;
};

/// y(o, i) = bias(o) + sum_c weight(o, c) x(c, i) [+ residual(o, i)]
///   x (n_in, n_point), y and residual (n_out, n_point) tiles; residual.data null means none
/// y may be residual itself; otherwise no overlap. The sum starts at the bias, runs over c in order
/// and ends with the residual, by fused multiply-add in simd: the same bits on every vector level.
template <class T>
void linear(const Queue& queue, const Linear<T>& layer, Tile<const T> x, Tile<const T> residual,
            Tile<T> y);

namespace ref {
template <class T>
void linear(const Linear<T>& layer, Tile<const T> x, Tile<const T> residual, Tile<T> y);
}
namespace simd {
void linear(VectorLevel level, const Linear<float>& layer, Tile<const float> x,
            Tile<const float> residual, Tile<float> y);
}

}  // namespace surrogate::kernels
