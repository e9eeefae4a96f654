// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/base/buffer.hpp"
#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl::bsa {

/// Range of this rank's slots, in whole balls, and the tiles that store their values. A ball of up
/// to n_column slots is one tile; a larger ball is several whole tiles. Blocks and groups never
/// cross the end of a tile. Balls of fewer than lane_count slots leave columns of a tile unused.
struct SlotShape {
    int64_t n_slot = 0;  ///< over all ranks
    int64_t ball = 1;    ///< slots per ball
    Range own;           ///< slots of this rank
    int64_t n_column = kernels::tile_points;

    int64_t n_local() const { return own.size(); }
    int64_t n_tile() const { return n_local() / n_column; }
    int64_t row() const { return kernels::round_up(n_column, kernels::lane_count); }
    /// Returns the number of elements of a field of n_channel channels.
    int64_t size(int64_t n_channel) const { return n_tile() * n_channel * row(); }

    template <class T>
    kernels::Tiles<T> tiles(T* data, int64_t n_channel) const {
        return {data, n_channel, n_local(), n_column, row()};
    }

    /// Returns the number of queries of a piece, the unit of attention: at most tile_points.
    int64_t piece() const { return std::min(n_column, kernels::tile_points); }
    int64_t n_piece() const { return n_local() / std::max<int64_t>(1, piece()); }
    template <class T>
    kernels::Tile<T> piece_of(const kernels::Tiles<T>& field, int64_t index) const {
        const int64_t first = index * piece();
        return kernels::points(field.tile(first / n_column), first % n_column, piece());
    }
};

/// Copies the points of a tile to another tile of the same shape.
template <class T>
void copy_tile(const std::type_identity_t<kernels::Tile<const T>>& from,
               const kernels::Tile<T>& to) {
    for (int64_t c = 0; c < from.shape[0]; ++c) std::copy_n(&from(c, 0), from.shape[1], &to(c, 0));
}

/// Copies a tile to one with at least as many columns; their rest becomes zero.
template <class T>
void copy_padded(const std::type_identity_t<kernels::Tile<const T>>& from,
                 const kernels::Tile<T>& to) {
    for (int64_t c = 0; c < from.shape[0]; ++c)
        std::fill(std::copy_n(&from(c, 0), from.shape[1], &to(c, 0)), &to(c, 0) + to.stride[0],
                  T(0));
}

/// Sets all tiles of a field to zero, including their padding.
template <class T>
void fill_zero(const kernels::Tiles<T>& field) {
    std::fill_n(field.data, field.n_tile() * field.n_channel * field.row, T(0));
}

}  // namespace surrogate::impl::bsa
