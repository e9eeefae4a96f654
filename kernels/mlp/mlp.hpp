// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernels/activation/activation.hpp"
#include "kernels/linear/linear.hpp"

namespace surrogate::kernels {

/// A chain of affine layers with residuals, the "ResidualMLP" of FLARE:
///   one layer:   y = W x + b                         (+ x if residual_in and residual_out and the
///                widths agree)
///   otherwise:   a = f(W_0 x + b_0)                  (+ x if residual_in and the widths agree)
///                a = a + f(W_j a + b_j)              for the inner layers j = 1 .. n - 2, all of
///                                                    equal width
///                y = W_last a + b_last               (+ a if residual_out and the widths agree)
/// The caller owns the memory of `layers`.
/// Source: spec of FLARE, section 2 (vpuri3/FLARE.py, ResidualMLP).
template <class T>
struct ResidualMlp {
    std::span<const Linear<T>> layers;
    Activation activation = Activation::gelu_tanh;
    bool residual_in = false;
    bool residual_out = false;

    int64_t n_in() const { return layers.front().n_in; }
    int64_t n_out() const { return layers.back().n_out; }
    int64_t n_hidden() const { return layers.size() > 1 ? layers.front().n_out : 0; }
    /// Returns true if x is added to the first layer's result, and if the input of the last layer
    /// is added to the last layer's result.
    bool adds_input() const {
        return layers.size() > 1 ? residual_in && n_in() == n_hidden()
                                 : residual_in && residual_out && n_in() == n_out();
    }
    bool adds_hidden() const { return layers.size() > 1 && residual_out && n_hidden() == n_out(); }

    /// Returns the number of channels of a tile that the backward pass reads besides x. For each
    /// layer j except the last the tile stores the sum u_j = W_j a + b_j and the result a_j, in the
    /// order u_0, a_0, u_1, a_1, .. This is 8 n_hidden (n_layer - 1) bytes per point in float: 2048
    /// for 5 layers of 64.
    int64_t n_saved() const { return 2 * n_hidden() * (static_cast<int64_t>(layers.size()) - 1); }
    template <class U>
    Tile<U> saved_sum(Tile<U> saved, size_t j) const {
        return channels(saved, 2 * static_cast<int64_t>(j) * n_hidden(), n_hidden());
    }
    template <class U>
    Tile<U> saved_result(Tile<U> saved, size_t j) const {
        return channels(saved, (2 * static_cast<int64_t>(j) + 1) * n_hidden(), n_hidden());
    }
};

/// Computes y = chain(x), with `accumulate` y += chain(x).
///   x (n_in, n_point), y (n_out, n_point), scratch (2 * n_hidden, n_point): tiles, no overlap
/// All layers of a tile run one after the other on memory that stays in cache; intermediates are
/// stored in `scratch` only.
template <class T>
void residual_mlp(const Queue& queue, const ResidualMlp<T>& mlp, Tile<const T> x, Tile<T> scratch,
                  bool accumulate, Tile<T> y);

/// Computes residual_mlp(), bitwise identical, and writes `saved` (n_saved, n_point) for the
/// backward pass instead of scratch. x, saved and y do not overlap.
template <class T>
void residual_mlp_forward(const Queue& queue, const ResidualMlp<T>& mlp, Tile<const T> x,
                          Tile<T> saved, bool accumulate, Tile<T> y);

/// Runs the backward pass. From dy, the gradient of y, computes dx = J^T dy, with `accumulate` dx
/// += J^T dy, and adds the gradients of all parameters to gradients[j] of layer j as
/// linear_gradient() does.
///   x (n_in, n_point) and saved as the forward pass left them, dy (n_out, n_point),
///   dx (n_in, n_point), scratch (2 * n_hidden, n_point); dx.data null: dx is not computed
/// Tiles do not overlap. If the forward pass added its result to y, dy is also the gradient of the
/// earlier contents of y. Does not allocate.
/// Calls activate_backward(), linear_backward(), linear_gradient(), with their rounding and error
/// bounds.
template <class T>
void residual_mlp_backward(const Queue& queue, const ResidualMlp<T>& mlp, Tile<const T> x,
                           Tile<const T> saved, Tile<const T> dy,
                           std::span<const LinearGradient> gradients, Tile<T> scratch,
                           bool accumulate, Tile<T> dx);

namespace ref {
template <class T>
void residual_mlp(const ResidualMlp<T>& mlp, Tile<const T> x, Tile<T> scratch, bool accumulate,
                  Tile<T> y);
template <class T>
void residual_mlp_forward(const ResidualMlp<T>& mlp, Tile<const T> x, Tile<T> saved,
                          bool accumulate, Tile<T> y);
}  // namespace ref
namespace simd {
void residual_mlp(VectorLevel level, const ResidualMlp<float>& mlp, Tile<const float> x,
                  Tile<float> scratch, bool accumulate, Tile<float> y);
void residual_mlp_forward(VectorLevel level, const ResidualMlp<float>& mlp, Tile<const float> x,
                          Tile<float> saved, bool accumulate, Tile<float> y);
}  // namespace simd

}  // namespace surrogate::kernels
