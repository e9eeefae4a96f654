// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/linear/linear.hpp"

/// One affine layer for the channels of each head, as keys and values of PhysicsNeMo's FLARE have
/// it.
namespace surrogate::impl::flare {

/// Computes linear() of the channels of each head.
///   x (H n_in, n_point), y (H n_out, n_point) tiles, no overlap
template <class T>
void head_linear(const kernels::Queue& queue, const kernels::Linear<T>& layer,
                 kernels::Tile<const T> x, kernels::Tile<T> y) {
    const int64_t n_head = x.shape[0] / layer.n_in;
    for (int64_t head = 0; head < n_head; ++head)
        kernels::linear<T>(queue, layer, kernels::channels(x, head * layer.n_in, layer.n_in), {},
                           kernels::channels(y, head * layer.n_out, layer.n_out));
}

/// Computes dx from dy, with `accumulate` dx +=, and adds the gradient of the layer, head after
/// head.
///   x, dx (H n_in, n_point), dy (H n_out, n_point) tiles, no overlap
template <class T>
void head_linear_backward(const kernels::Queue& queue, const kernels::Linear<T>& layer,
                          kernels::Tile<const T> x, kernels::Tile<const T> dy,
                          const kernels::LinearGradient& gradient, bool accumulate,
                          kernels::Tile<T> dx) {
    const int64_t n_head = x.shape[0] / layer.n_in;
    for (int64_t head = 0; head < n_head; ++head) {
        const auto of_head = kernels::channels(dy, head * layer.n_out, layer.n_out);
        kernels::linear_gradient<T>(queue, kernels::channels(x, head * layer.n_in, layer.n_in),
                                    of_head, gradient);
        kernels::linear_backward<T>(queue, layer, of_head, {}, accumulate,
                                    kernels::channels(dx, head * layer.n_in, layer.n_in));
    }
}

}  // namespace surrogate::impl::flare
