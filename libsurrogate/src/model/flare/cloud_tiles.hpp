// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl::flare {

/// The points of a cloud on this rank.
struct CloudPart {
    int64_t cloud = 0;       ///< its number
    int64_t n_point = 0;     ///< on this rank
    int64_t n_global = 0;    ///< on all ranks
    bool is_shared = false;  ///< several ranks have points of it
};

/// Places the points of several clouds in tiles. A cloud has tiles of its own, or is a range of the
/// columns of one tile: its points are encoded in groups of tile_points from its first point on, as
/// in a plan of this cloud alone. Tiles of a cloud form chunks, in which sums over points
/// begin.
///
/// A cloud is whole if this rank has all its points and they are one chunk; otherwise it is
/// divided. Whole clouds come first. They form batches: one thread runs a batch through all blocks
/// of the network, and the activations of its batches share memory.
class CloudTiles {
public:
    /// A chunk of a divided cloud.
    struct Chunk {
        int64_t first_tile = 0, n_tile = 0;
        int64_t part = 0;  ///< index in divided()
    };
    /// The tiles of one whole cloud, or one tile of several.
    struct Unit {
        int64_t first_tile = 0, n_tile = 0;
        Range clouds;  ///< in columns()
    };

    /// Divides the points into tiles and chunks. clouds (n_point): of each point of the program.
    /// parts: ascending, of all clouds with points on this rank and of all that are shared.
    /// largest_chunk: tiles of a chunk; is_exact: all chunks except the last of a cloud have this
    /// size, otherwise they are smaller if threads lack work. Local.
    void set(std::span<const int64_t> clouds, std::span<const CloudPart> parts,
             int64_t largest_chunk, bool is_exact, int n_thread);

    /// Returns tile and column of each point, for PointPorts::place().
    std::span<const int64_t> slots() const { return slots_; }
    std::span<const int64_t> tile_sizes() const { return tile_sizes_; }

    /// Returns the memory of the activations of each tile, for Streams::resize().
    std::span<const int64_t> stream_slots() const { return stream_slots_; }
    int64_t n_stream_slot() const { return n_stream_slot_; }

    /// Returns, for whole clouds, their columns in a tile that they share, the units of their
    /// tiles, and the ranges of units that are batches.
    std::span<const Range> columns() const { return columns_; }
    std::span<const Unit> units() const { return units_; }
    std::span<const Range> batches() const { return batches_; }
    int64_t most_in_batch() const { return most_in_batch_; }  ///< clouds

    /// Returns divided clouds, and their chunks in order.
    std::span<const CloudPart> divided() const { return divided_; }
    std::span<const Chunk> chunks() const { return chunks_; }

    int64_t bytes() const;

private:
    int64_t add_whole(int64_t n_point);
    int64_t add_divided(const CloudPart& part, int64_t chunk_tiles);
    int64_t add_tiles(int64_t n_point);
    void set_slots(std::span<const int64_t> clouds, std::span<const CloudPart> parts,
                   std::vector<int64_t>& next);
    void set_batches(int n_thread);
    void set_stream_slots(int n_thread);

    std::vector<int64_t> slots_, tile_sizes_, stream_slots_;
    std::vector<Range> columns_, batches_;
    std::vector<Unit> units_;
    std::vector<Chunk> chunks_;
    std::vector<CloudPart> divided_;
    int64_t n_stream_slot_ = 0, most_in_batch_ = 0;
};

}  // namespace surrogate::impl::flare
