// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/convolve.hpp"

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels::sphere {

template <class T>
void apply_basis(const Queue& queue, const ConvolutionTable<T>& table, int64_t row, int64_t phase,
                 int64_t first_column, Rings<const T> x, Tile<T> z) {
    if (!uses_simd<T>(queue, "apply_basis"))
        return ref::apply_basis(table, row, phase, first_column, x, z);
    if constexpr (std::is_same_v<T, float>)
        simd::apply_basis(queue.level(), table, row, phase, first_column, x, z);
}

template <class T>
void sum_basis(const Queue& queue, const ConvolutionTable<T>& table, int64_t row, int64_t phase,
               int64_t first_column, Rings<const T> t, bool accumulate, Tile<T> y) {
    if (!uses_simd<T>(queue, "sum_basis"))
        return ref::sum_basis(table, row, phase, first_column, t, accumulate, y);
    if constexpr (std::is_same_v<T, float>)
        simd::sum_basis(queue.level(), table, row, phase, first_column, t, accumulate, y);
}

template void apply_basis(const Queue&, const ConvolutionTable<float>&, int64_t, int64_t, int64_t,
                          Rings<const float>, Tile<float>);
template void apply_basis(const Queue&, const ConvolutionTable<double>&, int64_t, int64_t, int64_t,
                          Rings<const double>, Tile<double>);
template void sum_basis(const Queue&, const ConvolutionTable<float>&, int64_t, int64_t, int64_t,
                        Rings<const float>, bool, Tile<float>);
template void sum_basis(const Queue&, const ConvolutionTable<double>&, int64_t, int64_t, int64_t,
                        Rings<const double>, bool, Tile<double>);

}  // namespace surrogate::kernels::sphere
