// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/view.hpp"

namespace surrogate::kernels::sequoia {

/// Rows of channels whose columns all have one stride.
struct Rows {
    const float* data;
    int64_t row, n_dim;

    Rows from(int64_t column) const { return {data + column, row, n_dim}; }
};

inline Rows rows_of(Tile<const float> tile, int64_t head, int64_t n_dim) {
    return {tile.data + head * n_dim * tile.stride[0], tile.stride[0], n_dim};
}

/// Copies some columns to separate memory whose rows have whole vectors: the rest is 0.
inline void copy_columns(Rows from, int64_t count, int64_t to_row, float* to) {
    for (int64_t c = 0; c < from.n_dim; ++c) {
        for (int64_t i = 0; i < count; ++i) to[c * to_row + i] = from.data[c * from.row + i];
        for (int64_t i = count; i < to_row; ++i) to[c * to_row + i] = 0;
    }
}

}  // namespace surrogate::kernels::sequoia
