// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/hept/hept.hpp"

namespace surrogate::kernels::hept {

/// Sizes of the rows to which a block of tokens is copied, in elements.
struct BlockRows {
    RowShape shape;

    int64_t query_row() const { return round_up(shape.n_query(), lane_count); }
    int64_t value_row() const { return round_up(shape.n_channel, lane_count); }
    int64_t key_row() const { return query_row() + value_row(); }
};

/// Returns 1 / sum_t den_t of a point. There is one division per point and no loop of divisions:
/// GCC 12 would group them in pairs, with zeros beside them that trap (bug 110762).
template <class T>
T inverse_den(const T* sums, int64_t n_channel, int64_t table_stride, int64_t n_table) {
    T den = sums[n_channel];
    for (int64_t t = 1; t < n_table; ++t) den += sums[t * table_stride + n_channel];
    return 1 / den;
}

}  // namespace surrogate::kernels::hept
