// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/dispatch.hpp"
#include "kernels/hept/hept.hpp"
#include "kernels/hept/scratch.hpp"

namespace surrogate::kernels::hept {

template <class T>
void combine_tables(const Queue& queue, const RowShape& shape, const T* sums, int64_t table_stride,
                    int64_t n_table, Tile<T> y) {
    if (!uses_simd<T>(queue, "combine_tables"))
        return ref::combine_tables(shape, sums, table_stride, n_table, y);
    if constexpr (std::is_same_v<T, float>)
        simd::combine_tables(queue.level(), shape, sums, table_stride, n_table, y);
}

template <class T>
void combine_tables_backward(const Queue&, const RowShape& shape, const T* sums,
                             int64_t table_stride, int64_t n_table, Tile<const T> y,
                             Tile<const T> dy, T* given) {
    for (int64_t i = 0; i < y.shape[1]; ++i, sums += shape.n_sum(), given += shape.n_sum()) {
        const T inverse = inverse_den(sums, shape.n_channel, table_stride, n_table);
        T product = 0;
        for (int64_t c = 0; c < shape.n_channel; ++c) {
            product += dy(c, i) * y(c, i);
            given[c] = dy(c, i) * inverse;
        }
        given[shape.n_channel] = product * inverse;
    }
}

template void combine_tables(const Queue&, const RowShape&, const float*, int64_t, int64_t,
                             Tile<float>);
template void combine_tables(const Queue&, const RowShape&, const double*, int64_t, int64_t,
                             Tile<double>);
template void combine_tables_backward(const Queue&, const RowShape&, const float*, int64_t, int64_t,
                                      Tile<const float>, Tile<const float>, float*);
template void combine_tables_backward(const Queue&, const RowShape&, const double*, int64_t,
                                      int64_t, Tile<const double>, Tile<const double>, double*);

}  // namespace surrogate::kernels::hept
