// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"
#include "libsurrogate/src/domain/columns.hpp"
#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/domain/solver_tiles.hpp"
#include "libsurrogate/src/ranks/row_exchange.hpp"

namespace surrogate::impl {

/// Resizes tiles (n_tile, n_channel, tile_points). The last tile, which may have fewer points than
/// before, becomes zero: its padding must be finite.
template <class T>
void resize_tiles(kernels::Buffer<T>& tiles, int64_t n_tile, int64_t n_channel) {
    const int64_t tile_size = n_channel * kernels::tile_points;
    tiles.resize(n_tile * tile_size);
    if (n_tile > 0) std::fill_n(tiles.end() - tile_size, tile_size, T(0));
}

/// Copies fields from the solver's points to the tiles of a program and back. Tiles are in the
/// solver's ordering or in an ordering of the plan, for which rows are redistributed between ranks.
/// Does not allocate after allocate(). When points move, reorder() and allocate() must be called
/// again.
template <class T>
class PointPorts {
public:
    /// Keeps references: `domain` must outlive it. Local.
    PointPorts(const PointDomain& domain, const kernels::Queue& queue, int64_t n_input,
               int64_t n_output);

    /// Plans the canonical order of points, in whole blocks of `block_points`. Collective.
    void reorder(int64_t block_points);
    /// Takes the route from the domain's points to their positions. Called again when points move.
    /// Collective.
    void reorder(RowRoute route);
    /// Sets the tiles of points, after reorder(), if at all: the program's point i is in column
    /// slots[i] % tile_points of tile slots[i] / tile_points, and tile t has its tile_sizes[t]
    /// points in its first columns. Without it points fill the tiles in their order. Both spans
    /// must outlive the runs. Called again when points move. Local.
    void place(std::span<const int64_t> slots, std::span<const int64_t> tile_sizes);
    /// Allocates for more points than ever before; after reorder() and place(), if at all. Local.
    void allocate();

    bool is_reordered() const { return rows_.has_value(); }
    int64_t n_point() const { return n_point_; }  ///< of the program on this rank
    int64_t n_tile() const {
        if (is_placed_) return std::ssize(tile_sizes_);
        return (n_point_ + kernels::tile_points - 1) / kernels::tile_points;
    }
    int64_t n_in_tile(int64_t tile) const {
        if (is_placed_) return tile_sizes_[static_cast<size_t>(tile)];
        return std::min(kernels::tile_points, n_point_ - tile * kernels::tile_points);
    }

    /// Returns tiles (n_channel, points of the tile) of the program's points; padding is zero.
    kernels::Tile<T> input(int64_t tile) { return tile_of(input_, tile, n_input_); }
    kernels::Tile<T> output(int64_t tile) { return tile_of(output_, tile, n_output_); }

    /// Reads the solver's columns; see Program::gather. first_column: number of the first of them
    /// among the columns of the run, if the program reads earlier ones by other means. Local.
    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside, int first_column = 0);
    /// Returns the rows (n_local, n_input) of deliver(), for a program that writes them itself
    /// instead of gather(); only with another order.
    T* solver_rows() { return rows_->solver(); }
    /// Scatters the columns of gather() to input tiles. Does nothing without another order.
    /// Collective.
    void deliver();
    /// Writes output tiles to the solver's columns, or NaN if not alive. Collective.
    BadValue scatter(std::span<const Column> outputs, bool alive);

    int64_t bytes() const {
        return input_.bytes() + output_.bytes() + (rows_ ? rows_->bytes() : 0);
    }

private:
    kernels::Tile<T> tile_of(kernels::Buffer<T>& buffer, int64_t tile, int64_t n_channel) const {
        return {buffer.data() + tile * kernels::tile_points * n_channel,
                {n_channel, n_in_tile(tile)},
                {kernels::tile_points, 1}};
    }
    /// Returns the position of the program's point i in the tiles.
    int64_t slot(int64_t i) const { return is_placed_ ? slots_[static_cast<size_t>(i)] : i; }
    static T* at(kernels::Buffer<T>& buffer, int64_t slot, int64_t n_channel) {
        return buffer.data() + slot / kernels::tile_points * kernels::tile_points * n_channel +
               slot % kernels::tile_points;
    }
    /// Calls body(first point, number of points, slot of the first) over the points of a range that
    /// are neighbors in a tile, too. Returns the first bad value.
    template <class Body>
    BadValue for_runs(int64_t first, int64_t count, const Body& body) const;
    void send_back(bool alive);

    const PointDomain& domain_;
    int64_t n_input_, n_output_;
    int64_t n_point_ = 0;
    SolverTiles solver_tiles_;
    std::optional<RowExchange<T>> rows_;
    bool is_placed_ = false;
    std::span<const int64_t> slots_, tile_sizes_;  // (n_point), (n_tile), only if placed
    kernels::Buffer<T> input_, output_;            // (n_tile, channels, tile_points)
};

}  // namespace surrogate::impl
