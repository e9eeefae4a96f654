// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"

namespace surrogate::kernels {

/// Activation f(u) of a channel.
/// identity: u
/// gelu: u/2 (1 + erf(u / sqrt(2)))   PyTorch's GELU
/// gelu_tanh: u/2 (1 + tanh(sqrt(2/pi) (u + 0.044715 u^3)))   PyTorch's GELU(approximate="tanh")
/// silu: u / (1 + exp(-u))
/// relu: max(0, u)
/// tanh: (1 - exp(-2 u)) / (1 + exp(-2 u))
enum class Activation { identity, gelu_tanh, silu, gelu, relu, tanh };

/// Computes y(c, i) = f(x(c, i)). x and y are (n_channel, n_point) tiles; y may be x itself, other
/// overlap is not allowed. float: relative error at most 1e-6 of max(|u|, |f|), bitwise identical
/// on every SIMD instruction set. double (ref): libm. Source: specs of FLARE, section 2, and HEPT,
/// section 1; Hendrycks and Gimpel, arXiv:1606.08415.
template <class T>
void activate(const Queue& queue, Activation kind, Tile<const T> x, Tile<T> y);

/// Computes dx(c, i) = dy(c, i) f'(x(c, i)), with x the argument of f; f'(0) of relu is 0.
///   x, dy, dx  (n_channel, n_point) tiles; dx may be dy or x itself, no other overlap
/// float: error of f' at most 1e-6 (|f'| <= 1.13), bitwise identical on every SIMD instruction set.
/// double (ref): libm. For tanh, f' keeps its digits down to 2^-122. Source: specs of FLARE,
/// section 2, and HEPT, section 1.
template <class T>
void activate_backward(const Queue& queue, Activation kind, Tile<const T> x, Tile<const T> dy,
                       Tile<T> dx);

namespace ref {
template <class T>
void activate(Activation kind, Tile<const T> x, Tile<T> y);
template <class T>
void activate_backward(Activation kind, Tile<const T> x, Tile<const T> dy, Tile<T> dx);
}  // namespace ref
namespace simd {
void activate(VectorLevel level, Activation kind, Tile<const float> x, Tile<float> y);
void activate_backward(VectorLevel level, Activation kind, Tile<const float> x,
                       Tile<const float> dy, Tile<float> dx);
}  // namespace simd

}  // namespace surrogate::kernels
