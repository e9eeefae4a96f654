// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "kernels/linear/linear.hpp"

namespace surrogate::kernels {

/// A SwiGLU block: y = W3 (w * silu(u)) + b3 with u = W1 x + b1, w = W2 x + b2.
/// The caller owns the memory of the layers. Source: Shazeer, arXiv:2002.05202; the specification
/// of Ball Sparse Attention, section 2.
template <class T>
struct SwiGlu {
    Linear<T> w1, w2, w3;

    int64_t n_hidden() const { return w1.n_out; }
    /// Returns the number of channels of a tile that the backward pass reads besides x: u, then w.
    int64_t n_saved() const { return 2 * n_hidden(); }
};

/// Computes y (n_out, n_point) = swiglu(x), with `accumulate` y += swiglu(x).
///   x (n_in, n_point), scratch (2 * n_hidden, n_point) tiles; nothing overlaps
template <class T>
void swiglu(const Queue& queue, const SwiGlu<T>& mlp, Tile<const T> x, Tile<T> scratch,
            bool accumulate, Tile<T> y);

/// Computes swiglu(), bitwise identical, and writes `saved` (n_saved, n_point) for the backward
/// pass.
///   scratch (n_hidden, n_point)
template <class T>
void swiglu_forward(const Queue& queue, const SwiGlu<T>& mlp, Tile<const T> x, Tile<T> saved,
                    Tile<T> scratch, bool accumulate, Tile<T> y);

/// Runs the backward pass. From dy, the gradient of y, computes dx = J^T dy, with `accumulate` dx
/// += J^T dy, and adds the gradients of the parameters of w1, w2, w3 as linear_gradient() does.
///   x and saved as the forward pass left them; scratch (3 * n_hidden, n_point); dx.data null: dx
///   is
///   not computed
/// Does not allocate. Calls linear_backward(), linear_gradient(), with their rounding and error
/// bounds.
template <class T>
void swiglu_backward(const Queue& queue, const SwiGlu<T>& mlp, Tile<const T> x, Tile<const T> saved,
                     Tile<const T> dy, const std::array<LinearGradient, 3>& gradients,
                     Tile<T> scratch, bool accumulate, Tile<T> dx);

namespace ref {
template <class T>
void swiglu(const SwiGlu<T>& mlp, Tile<const T> x, Tile<T> scratch, bool accumulate, Tile<T> y);
template <class T>
void swiglu_forward(const SwiGlu<T>& mlp, Tile<const T> x, Tile<T> saved, Tile<T> scratch,
                    bool accumulate, Tile<T> y);
/// Replaces t, the gradient of the product, by the product w silu(u), and computes du = t w
/// silu'(u) and dw = t silu(u). All are (n_hidden, n_point).
template <class T>
void swiglu_product_backward(Tile<const T> u, Tile<const T> w, Tile<T> t, Tile<T> du, Tile<T> dw);
}  // namespace ref
namespace simd {
void swiglu(VectorLevel level, const SwiGlu<float>& mlp, Tile<const float> x, Tile<float> scratch,
            bool accumulate, Tile<float> y);
void swiglu_forward(VectorLevel level, const SwiGlu<float>& mlp, Tile<const float> x,
                    Tile<float> saved, Tile<float> scratch, bool accumulate, Tile<float> y);
void swiglu_product_backward(VectorLevel level, Tile<const float> u, Tile<const float> w,
                             Tile<float> t, Tile<float> du, Tile<float> dw);
}  // namespace simd

}  // namespace surrogate::kernels
