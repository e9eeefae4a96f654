// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "kernels/linear/linear.hpp"

namespace surrogate::kernels {

/// y = W3 (w * silu(u)) + b3 with u = W1 x + b1, w = W2 x + b2.
/// Memory behind the layers belongs to the caller. Source: Shazeer, arXiv:2002.05202; the
/// specification of Ball Sparse Attention, section 2.
template <class T>
struct SwiGlu {
    Linear<T> w1, w2, w3;

    int64_t n_hidden() const { return w1.n_out; }
    /// Channels that backward needs of a tile besides x: u, then w.
    int64_t n_saved() const { return 2 * n_hidden(); }
};

/// y (n_out, n_point) = swiglu(x), with `accumulate` y += swiglu(x).
///   x (n_in, n_point), scratch (2 * n_hidden, n_point) tiles; nothing overlaps
template <class T>
void swiglu(const Queue& queue, const SwiGlu<T>& mlp, Tile<const T> x, Tile<T> scratch,
            bool accumulate, Tile<T> y);

/// swiglu() with the same bits, and `saved` (n_saved, n_point) written for backward.
///   scratch (n_hidden, n_point)
template <class T>
void swiglu_forward(const Queue& queue, const SwiGlu<T>& mlp, Tile<const T> x, Tile<T> saved,
                    Tile<T> scratch, bool accumulate, Tile<T> y);

/// From dy, the gradient of y: dx = J^T dy, with `accumulate` dx += J^T dy, and gradients of the
/// parameters of w1, w2, w3, added as linear_gradient() does.
///   x and saved as forward left them; scratch (3 * n_hidden, n_point); dx.data null: nobody needs
///   it
/// Allocates nothing. Calls linear_backward(), linear_gradient(): their bits and error bounds.
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
/// From t, the gradient of the product: t becomes the product w silu(u), du = t w silu'(u) and
/// dw = t silu(u).   All (n_hidden, n_point)
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
