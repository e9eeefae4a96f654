// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/convolve.hpp"

namespace surrogate::kernels::sphere::ref {
namespace {

/// Returns the sum of Psi_k x for one channel and output column.
template <class T>
T filtered(const ConvolutionTable<T>& table, int64_t row, int64_t phase, int64_t k,
           Rings<const T> x, int64_t channel, int64_t column) {
    const T* value = table.values + table.stencil->value_of(row, phase, k);
    T sum = 0;
    for (const Strip& strip : table.stencil->list(row, phase, k)) {
        const T* ring = x.at(strip.row, channel) + column + strip.first;
        for (int32_t j = 0; j < strip.count; ++j) sum += *value++ * ring[j];
    }
    return sum;
}

}  // namespace

template <class T>
void apply_basis(const ConvolutionTable<T>& table, int64_t row, int64_t phase, int64_t first_column,
                 Rings<const T> x, Tile<T> z) {
    const int64_t n_basis = table.stencil->n_basis;
    for (int64_t c = 0; c < z.shape[0] / n_basis; ++c)
        for (int64_t k = 0; k < n_basis; ++k)
            for (int64_t i = 0; i < z.shape[1]; ++i)
                z(c * n_basis + k, i) = filtered(table, row, phase, k, x, c, first_column + i);
}

template <class T>
void sum_basis(const ConvolutionTable<T>& table, int64_t row, int64_t phase, int64_t first_column,
               Rings<const T> t, bool accumulate, Tile<T> y) {
    const int64_t n_basis = table.stencil->n_basis;
    for (int64_t o = 0; o < y.shape[0]; ++o) {
        for (int64_t i = 0; i < y.shape[1]; ++i) {
            T sum = 0;
            for (int64_t k = 0; k < n_basis; ++k)
                sum += filtered(table, row, phase, k, t, o * n_basis + k, first_column + i);
            y(o, i) = accumulate ? y(o, i) + sum : sum;
        }
    }
}

template void apply_basis(const ConvolutionTable<float>&, int64_t, int64_t, int64_t,
                          Rings<const float>, Tile<float>);
template void apply_basis(const ConvolutionTable<double>&, int64_t, int64_t, int64_t,
                          Rings<const double>, Tile<double>);
template void sum_basis(const ConvolutionTable<float>&, int64_t, int64_t, int64_t,
                        Rings<const float>, bool, Tile<float>);
template void sum_basis(const ConvolutionTable<double>&, int64_t, int64_t, int64_t,
                        Rings<const double>, bool, Tile<double>);

}  // namespace surrogate::kernels::sphere::ref
