// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"
#include "kernels/sphere/rings.hpp"

namespace surrogate::kernels::sphere {

/// The weights of a Stencil in the type of the fields.
template <class T>
struct ConvolutionTable {
    const Stencil* stencil = nullptr;
    const T* values = nullptr;  ///< stencil->values, rounded once
};

// A convolution applies Psi (geometry, K basis functions) and W (channels), in either order. Both
// process some columns of one output phase row: column i of a tile is column first_column + i. The
// order of every sum depends on the stencil only, as in attend_neighbors().

/// Applies the geometry first:  z(c * K + k, i) = sum of Psi_k(..) x(c, ..).
///   x  rings of C channels
///   z  (C * K, n)
template <class T>
void apply_basis(const Queue& queue, const ConvolutionTable<T>& table, int64_t row, int64_t phase,
                 int64_t first_column, Rings<const T> x, Tile<T> z);

/// Applies the geometry after the weights:  y(o, i) [+]= sum_k sum of Psi_k(..) t(o * K + k, ..).
///   t  rings of O * K channels
template <class T>
void sum_basis(const Queue& queue, const ConvolutionTable<T>& table, int64_t row, int64_t phase,
               int64_t first_column, Rings<const T> t, bool accumulate, Tile<T> y);

namespace ref {
template <class T>
void apply_basis(const ConvolutionTable<T>& table, int64_t row, int64_t phase, int64_t first_column,
                 Rings<const T> x, Tile<T> z);
template <class T>
void sum_basis(const ConvolutionTable<T>& table, int64_t row, int64_t phase, int64_t first_column,
               Rings<const T> t, bool accumulate, Tile<T> y);
}  // namespace ref
namespace simd {
void apply_basis(VectorLevel level, const ConvolutionTable<float>& table, int64_t row,
                 int64_t phase, int64_t first_column, Rings<const float> x, Tile<float> z);
void sum_basis(VectorLevel level, const ConvolutionTable<float>& table, int64_t row, int64_t phase,
               int64_t first_column, Rings<const float> t, bool accumulate, Tile<float> y);
}  // namespace simd

}  // namespace surrogate::kernels::sphere
