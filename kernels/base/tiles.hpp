// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/base/view.hpp"

namespace surrogate::kernels {

/// Consecutive points, stored in tiles of `n_column` points. The caller owns the memory.
///   data (n_tile, n_channel, row), point i in column i % n_column of tile i / n_column
/// The last tile may hold fewer points; it is allocated for `n_column` points. Each tile obeys the
/// contract of Tile.
template <class T>
struct Tiles {
    T* data = nullptr;
    int64_t n_channel = 0, n_point = 0;
    int64_t n_column = tile_points;
    int64_t row = tile_points;  ///< round_up(n_column, lane_count)

    int64_t n_tile() const { return (n_point + n_column - 1) / n_column; }
    Tile<T> tile(int64_t i) const {
        return {data + i * n_channel * row,
                {n_channel, std::min(n_column, n_point - i * n_column)},
                {row, 1}};
    }
    /// Returns the address of channel 0 of a point; the next channel is `row` elements further.
    T* column(int64_t point) const {
        return data + point / n_column * n_channel * row + point % n_column;
    }
    T& operator()(int64_t channel, int64_t point) const { return column(point)[channel * row]; }

    operator Tiles<const T>() const requires(!std::is_const_v<T>) {
        return {data, n_channel, n_point, n_column, row};
    }
};

}  // namespace surrogate::kernels
