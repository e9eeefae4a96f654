// SPDX-License-Identifier: Apache-2.0
#include "kernels/hept/hept.hpp"

namespace surrogate::kernels::hept {
namespace {

/// 1 / sum_t den_t of a point. One division a point and no loop of them: GCC 12 would make two at a
/// time, with zeros beside them that trap (bug 110762).
template <class T>
T inverse_den(const T* sums, int64_t n_channel, int64_t table_stride, int64_t n_table) {
    T den = sums[n_channel];
    for (int64_t t = 1; t < n_table; ++t) den += sums[t * table_stride + n_channel];
    return 1 / den;
}

}  // namespace

template <class T>
void combine_tables(const Queue&, const RowShape& shape, const T* sums, int64_t table_stride,
                    int64_t n_table, Tile<T> y) {
    for (int64_t i = 0; i < y.shape[1]; ++i, sums += shape.n_sum()) {
        const T inverse = inverse_den(sums, shape.n_channel, table_stride, n_table);
        for (int64_t c = 0; c < shape.n_channel; ++c) {
            T num = sums[c];
            for (int64_t t = 1; t < n_table; ++t) num += sums[t * table_stride + c];
            y(c, i) = num * inverse;
        }
    }
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
