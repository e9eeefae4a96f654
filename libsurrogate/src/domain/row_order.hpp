// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl {

/// The canonical order of all points of a domain, cut into blocks that are dealt to the ranks: the
/// order, and hence everything computed block by block, is the same for every number of ranks and
/// every partition.
///
/// Order: by global id, or by the bit patterns of the coordinates if the domain has no ids. Memory:
/// some 100 bytes a local point while it is made, 16 afterwards; nothing of the length of all
/// points.
class RowOrder {
public:
    /// Collective. Throws invalid_argument if two points have the same id or, without ids, the same
    /// coordinates (both are named), or if the domain has neither.
    RowOrder(const PointDomain& domain, int64_t block_rows);

    int64_t n_block_global() const { return n_block_global_; }

    /// Rows of the canonical order that this rank holds; begins at a block.
    Range rows() const { return rows_; }

    /// What the exchanges below need to take no memory, for rows up to row_bytes. Local; throws
    /// bad_alloc.
    void reserve(Communicator& comm, int64_t row_bytes) const;

    /// Collective: rows of the solver (n_local, row_bytes) to the canonical order (rows().size(),
    /// row_bytes). scratch: space for scratch_rows() rows. Allocates nothing once reserved.
    void to_canonical(Communicator& comm, const void* solver, void* scratch, void* canonical,
                      int64_t row_bytes) const;

    /// The reverse.
    void to_solver(Communicator& comm, const void* canonical, void* scratch, void* solver,
                   int64_t row_bytes) const;

    int64_t scratch_rows() const { return std::ssize(send_row_) + std::ssize(receive_row_); }
    int64_t bytes() const;

private:
    void set_routes(Communicator& comm, std::span<const int64_t> position, int64_t n_global,
                    int64_t block_rows);

    int64_t n_block_global_ = 0;
    Range rows_;
    std::vector<int64_t> n_send_, n_receive_;  // rows to and from each rank
    std::vector<int64_t> send_row_;            // solver row of each row sent, grouped by rank
    std::vector<int64_t>
        receive_row_;  // canonical row, counted from rows().begin, of each row received
};

/// Position in the global order of every local point; collective, throws as RowOrder.
std::vector<int64_t> canonical_positions(const PointDomain& domain);

}  // namespace surrogate::impl
