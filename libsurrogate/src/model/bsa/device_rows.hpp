// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/tiles.hpp"

namespace surrogate::impl::bsa {

/// Slots that change ranks on their way to another order of the tree, as rows in memory: those
/// taken from other ranks, those given to them, and those that stay, in this order.
struct SlotMoves {
    std::vector<int32_t> given;  ///< slot, counted from the rank's first, of each row given or kept
    std::vector<int32_t> taken;  ///< row of each slot of the new order
    std::vector<int64_t> n_given, n_taken;  ///< rows of each rank (ranks), 0 of the own

    int64_t n_row_taken() const;
    int64_t n_row_given() const;  ///< to other ranks
};

/// targets: place of each own slot in the new order, all ranks counted. sources: slot in each own
/// place of it. begins: first slot of each rank, and the end (ranks + 1), in either order.
SlotMoves slot_moves(std::span<const int64_t> targets, std::span<const int64_t> sources,
                     std::span<const int64_t> begins, int rank);

/// Offsets of the rows of all ranks in memory in which each rank has a part of part_rows rows: rank
/// r has rows begins[r] .. begins[r + 1] - 1, times `n_each`.
std::vector<int32_t> rows_of_parts(std::span<const int64_t> begins, int64_t n_each,
                                   int64_t part_rows);

/// The same numbers as rows (n_point, n_channel).
std::vector<float> point_rows(const kernels::Tiles<const float>& tiles);

/// The most that a rank has.
int64_t most_rows(std::span<const int64_t> begins);

}  // namespace surrogate::impl::bsa
