// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernels/activation/activation.hpp"
#include "kernels/mlp/mlp.hpp"
#include "libsurrogate/src/layers/dropout.hpp"

namespace surrogate::impl {

/// Two affine layers with dropout: drop(W_1 drop(f(W_0 x + b_0)) + b_1). Hidden channels have the
/// masks of site `hidden`, the result has the masks of site `result`.
template <class T>
struct DropoutMlp {
    const kernels::Queue& queue;
    kernels::ResidualMlp<T> mlp;  ///< two layers without residuals
    const Dropout& dropout;
    DropoutSite hidden, result;

    /// Computes y (n_out, n_point) from x (n_in, n_point), and saves (2 n_hidden, n_point) for
    /// backward(). Tiles do not overlap.
    void forward(const DropoutRows& rows, kernels::Tile<const T> x, kernels::Tile<T> saved,
                 kernels::Tile<T> y) const {
        const kernels::Tile<T> sum = mlp.saved_sum(saved, 0), kept = mlp.saved_result(saved, 0);
        kernels::linear<T>(queue, mlp.layers[0], x, {}, sum);
        kernels::activate<T>(queue, mlp.activation, sum, kept);
        dropout.apply<T>(hidden, rows, kept);
        kernels::linear<T>(queue, mlp.layers[1], kept, {}, y);
        dropout.apply<T>(result, rows, y);
    }

    /// Computes dx (n_in, n_point) from dy (n_out, n_point), which is overwritten, and adds the
    /// gradients of the two layers. dhidden (n_hidden, n_point) is scratch.
    void backward(const DropoutRows& rows, kernels::Tile<const T> x, kernels::Tile<const T> saved,
                  kernels::Tile<T> dy, std::span<const kernels::LinearGradient, 2> gradients,
                  kernels::Tile<T> dhidden, kernels::Tile<T> dx) const {
        dropout.apply<T>(result, rows, dy);
        kernels::linear_gradient<T>(queue, mlp.saved_result(saved, 0), dy, gradients[1]);
        kernels::linear_backward<T>(queue, mlp.layers[1], dy, {}, false, dhidden);
        dropout.apply<T>(hidden, rows, dhidden);
        kernels::activate_backward<T>(queue, mlp.activation, mlp.saved_sum(saved, 0), dhidden,
                                      dhidden);
        kernels::linear_gradient<T>(queue, x, dhidden, gradients[0]);
        kernels::linear_backward<T>(queue, mlp.layers[0], dhidden, {}, false, dx);
    }
};

}  // namespace surrogate::impl
