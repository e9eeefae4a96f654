// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Layout of the channels of points for tensor cores: 16 points at a time, 8 channels at a time,
/// lane by lane, so that every load and store of a warp is one contiguous piece.
namespace surrogate::kernels {

/// Points per tile: the rows of one tensor-core product.
constexpr int64_t tile_rows = 16;

/// Returns the number of tiles that hold n_row rows.
constexpr int64_t row_tiles(int64_t n_row) {
    return (n_row + tile_rows - 1) / tile_rows;
}

/// Returns the number of rows of these tiles.
constexpr int64_t padded_rows(int64_t n_row) {
    return row_tiles(n_row) * tile_rows;
}

/// Returns the index of (point, channel) in an array of (ceil(n_point / 16), width / 8, 32, 4)
/// elements.
constexpr int64_t fragment_index(int64_t point, int64_t channel, int64_t width) {
    const int64_t tile = point / tile_rows, row = point % tile_rows;
    const int64_t lane = row % 8 * 4 + channel % 8 / 2, slot = row / 8 * 2 + channel % 2;
    return ((tile * (width / 8) + channel / 8) * 32 + lane) * 4 + slot;
}
constexpr int64_t fragment_size(int64_t n_point, int64_t width) {
    return padded_rows(n_point) * width;
}

}  // namespace surrogate::kernels
