// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl {

/// Scatters rows between the ranks that have them (the origin) and the ranks that hold their
/// positions in a global ordering (the target). Set up once, then used in both directions;
/// gradients use the reverse direction. Memory: 16 bytes per row and 16 per rank.
class RowRoute {
public:
    /// Plans the route. positions (n_origin): of each local row, 0 .. n_global - 1; over all ranks
    /// each position occurs once. begins (size + 1): rank r holds positions begins[r] .. begins[r +
    /// 1] - 1; begins[0] = 0, begins[size] = n_global; the same on all ranks. Collective. Throws
    /// no_memory; internal if a position is out of range or a range does not get all its rows.
    RowRoute(Communicator& comm, std::span<const int64_t> positions,
             std::span<const int64_t> begins);

    int64_t n_origin() const { return std::ssize(send_row_); }
    /// Returns the positions that this rank holds.
    Range target_rows() const { return target_rows_; }
    /// Returns the rows of scratch that to_target() and to_origin() need.
    int64_t scratch_rows() const { return std::ssize(send_row_) + std::ssize(receive_row_); }
    int64_t bytes() const;

    /// Allocates for the calls below, for rows up to row_bytes. Local; throws bad_alloc.
    void reserve(Communicator& comm, int64_t row_bytes) const;

    /// Sends origin (n_origin, row_bytes) to target (target_rows().size(), row_bytes) through
    /// scratch (scratch_rows(), row_bytes); the three do not overlap. Collective. Does not allocate
    /// once reserved.
    void to_target(Communicator& comm, const void* origin, void* scratch, void* target,
                   int64_t row_bytes) const;
    /// Sends rows from the target back to the origin.
    void to_origin(Communicator& comm, const void* target, void* scratch, void* origin,
                   int64_t row_bytes) const;

    /// Moves rows of which none leaves its rank, in the order of their positions, without scratch;
    /// the communicator does not count them. Local.
    void to_target_alone(const void* origin, void* target, int64_t row_bytes) const;
    void to_origin_alone(const void* target, void* origin, int64_t row_bytes) const;

private:
    std::vector<int64_t> sort_by_position(std::span<const int64_t> positions);
    void count_by_rank(std::span<const int64_t> sorted, std::span<const int64_t> begins);

    Range target_rows_;
    std::vector<int64_t> n_send_, n_receive_;  // rows to and from each rank
    std::vector<int64_t> send_row_;            // origin row of each row sent, grouped by rank
    std::vector<int64_t> receive_row_;  // of each row received: position - target_rows_.begin
};

}  // namespace surrogate::impl
