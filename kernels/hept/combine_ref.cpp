// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/hept/hept.hpp"
#include "kernels/hept/scratch.hpp"

namespace surrogate::kernels::hept::ref {
namespace {

/// Number of channels that are summed together: the compiler vectorizes a loop of this length.
constexpr int64_t n_together = 8;

/// Returns sum_t num_t of n channels, multiplied by `factor`.
template <class T>
void add_tables(const T* sums, int64_t n, int64_t table_stride, int64_t n_table, T factor, T* num) {
    for (int64_t c = 0; c < n; ++c) num[c] = sums[c];
    for (int64_t t = 1; t < n_table; ++t)
        for (int64_t c = 0; c < n; ++c) num[c] += sums[t * table_stride + c];
    for (int64_t c = 0; c < n; ++c) num[c] *= factor;
}

}  // namespace

template <class T>
void combine_tables(const RowShape& shape, const T* sums, int64_t table_stride, int64_t n_table,
                    Tile<T> y) {
    for (int64_t i = 0; i < y.shape[1]; ++i, sums += shape.n_sum()) {
        const T inverse = inverse_den(sums, shape.n_channel, table_stride, n_table);
        const int64_t d = shape.n_channel;
        T num[n_together];
        for (int64_t first = 0; first < d; first += n_together) {
            const int64_t n = std::min(n_together, d - first);
            if (n == n_together)
                add_tables(sums + first, n_together, table_stride, n_table, inverse, num);
            else
                add_tables(sums + first, n, table_stride, n_table, inverse, num);
            for (int64_t c = 0; c < n; ++c) y(first + c, i) = num[c];
        }
    }
}

template void combine_tables(const RowShape&, const float*, int64_t, int64_t, Tile<float>);
template void combine_tables(const RowShape&, const double*, int64_t, int64_t, Tile<double>);

}  // namespace surrogate::kernels::hept::ref
