// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"

/// Embeddings: channels from coordinates and from token numbers.
namespace surrogate::kernels {

/// Computes f(c, i) = cos(a), f(n_feature + c, i) = sin(a) with a = sum_k W(c, k) p(k, i).
///   weight (n_feature, d) row-major, p (d, n_point), f (2 n_feature, n_point) tiles
/// float: a is summed in order, fused. Sine and cosine are implemented here; the error is at most
/// 1e-7 absolute for |a| <= 1e4, bitwise identical on every SIMD instruction set. For larger |a|
/// each lane calls libm in double, which is as exact and slow. double (ref): libm.
template <class T>
void fourier_features(const Queue& queue, int64_t n_feature, const T* weight, Tile<const T> p,
                      Tile<T> f);

/// Computes dweight(c, k) += sum_i da(c, i) p(k, i), dp(k, i) = sum_c da(c, i) W(c, k), with da(c,
/// i) = -f(n_feature + c, i) df(c, i) + f(c, i) df(n_feature + c, i). dp.data null: dp is not
/// computed.
///   f  output of the forward call, df has its shape; scratch  (n_feature, n_point) tile
template <class T>
void fourier_features_backward(const Queue& queue, int64_t n_feature, const T* weight,
                               Tile<const T> p, Tile<const T> f, Tile<const T> df, Tile<T> scratch,
                               double* dweight, Tile<T> dp);

/// Computes y(c, i) += table(row(i), c), or = with `accumulate` false.
///   table (n_row, n_channel) row-major; row (n_point), each in 0 .. n_row - 1 (not checked)
template <class T>
void embed_rows(const Queue& queue, const T* table, const int64_t* row, bool accumulate, Tile<T> y);

/// Adds dtable(row(i), c) += dy(c, i), in ascending i. dtable null: nothing is added.
template <class T>
void embed_rows_backward(const Queue& queue, const int64_t* row, Tile<const T> dy, double* dtable);

namespace ref {
template <class T>
void fourier_features(int64_t n_feature, const T* weight, Tile<const T> p, Tile<T> f);
/// Computes da (n_feature, n_point) of fourier_features_backward().
template <class T>
void fourier_angles_backward(Tile<const T> f, Tile<const T> df, Tile<T> da);
}  // namespace ref
namespace simd {
void fourier_features(VectorLevel level, int64_t n_feature, const float* weight,
                      Tile<const float> p, Tile<float> f);
void fourier_angles_backward(VectorLevel level, Tile<const float> f, Tile<const float> df,
                             Tile<float> da);
}  // namespace simd

}  // namespace surrogate::kernels
