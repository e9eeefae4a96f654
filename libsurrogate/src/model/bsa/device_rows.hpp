// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/model/bsa/slots.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl::bsa {

/// Rows in memory for a change between two orders of the tree: rows received from other ranks, rows
/// sent to other ranks, and rows that stay, in this order.
struct SlotMoves {
    std::vector<int32_t> given;  ///< slot of each sent or kept row, counted from the rank's first
    std::vector<int32_t> taken;  ///< row of each slot of the new order
    std::vector<int64_t> n_given, n_taken;  ///< rows per rank (size), 0 for the own rank

    int64_t n_row_taken() const;
    int64_t n_row_given() const;  ///< sent to other ranks
};

/// Computes the moves of a rank. targets: position of each own slot in the new order, over all
/// ranks. sources: slot at each own position of the new order. begins: first slot of each rank, and
/// the end (size + 1), the same in both orders.
SlotMoves slot_moves(std::span<const int64_t> targets, std::span<const int64_t> sources,
                     std::span<const int64_t> begins, int rank);

/// Returns the row of each item in memory in which each rank has a part of part_rows rows. Rank r
/// has the items begins[r] .. begins[r + 1] - 1, times `n_each`.
std::vector<int32_t> rows_of_parts(std::span<const int64_t> begins, int64_t n_each,
                                   int64_t part_rows);

/// Returns the point of each slot of `own`; ~point for a copy. points: point at each position of
/// these slots.
std::vector<int64_t> points_of_slots(const Slots& slots, Range own,
                                     std::span<const int64_t> points);

/// Copies tiles to rows (n_point, n_channel).
std::vector<float> point_rows(const kernels::Tiles<const float>& tiles);

/// Returns the largest number of rows of a rank.
int64_t most_rows(std::span<const int64_t> begins);

}  // namespace surrogate::impl::bsa
