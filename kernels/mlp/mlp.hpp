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
/// Memory behind `layers` belongs to the caller.
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
};

/// x (n_in, n_point), y (n_out, n_point), scratch (2 * n_hidden, n_point): tiles that do not
/// overlap, except that a caller may add onto y: with `accumulate`, y += chain(x).
/// All layers of a tile run one after the other on memory that stays in cache; no intermediate
/// leaves `scratch`.
template <class T>
void residual_mlp(const Queue& queue, const ResidualMlp<T>& mlp, Tile<const T> x, Tile<T> scratch,
                  bool accumulate, Tile<T> y);

namespace ref {
template <class T>
void residual_mlp(const ResidualMlp<T>& mlp, Tile<const T> x, Tile<T> scratch, bool accumulate,
                  Tile<T> y);
}
namespace simd {
void residual_mlp(VectorLevel level, const ResidualMlp<float>& mlp, Tile<const float> x,
                  Tile<float> scratch, bool accumulate, Tile<float> y);
}

}  // namespace surrogate::kernels
