// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/home_order.hpp"

namespace surrogate::impl::hept {

class RowCells;
class SharedCells;
struct TokenCopy;
struct TokenKey;

/// Which tokens meet where: everything about a geometry that no layer changes.
///
/// A token is a point, or (Padding::duplicate) a copy of one. Each of the C H rows (table, head)
/// sorts all tokens by (cloud, slab along coordinate 1, slab along coordinate 0, hash, id), cuts
/// the tokens of each cloud into blocks of block_size, and queries of a block attend to keys of the
/// same block. A cell is what shares the first three. Only the hash differs from layer to layer and
/// between queries and keys: so each cell has the same places in a row for all layers, and layers
/// only sort within cells.
///
/// Blocks are numbered over all clouds, the same for every row; rank p computes blocks
/// balanced_range(n_block, p, size) of every row. A cell whose places lie on several ranks is cut.
/// All of them receive all its tokens and sort it alone, each for its own places: exact selection,
/// without a collective for it. A token travels at most once a layer to each rank that needs it.
///
/// Tokens of this rank, in this order: its home points, copies made of them, visitors from other
/// ranks (in the order of ranks).
class TokenPlan {
public:
    /// A part of a row that this rank sorts: tokens members[begin .. end), points by ascending id
    /// before copies by number. Those at places first .. last - 1 of the cell, when sorted by hash,
    /// go to to .. of the rank's places.
    /// 32 bits: clouds of few points have nearly as many cells as points.
    struct Cell {
        int32_t begin = 0, end = 0;
        int32_t first = 0, last = 0;
        int32_t to = 0;
    };
    /// Places first .. first + n - 1 of this rank, in every row.
    struct Block {
        int64_t first = 0;
        int32_t n = 0;
        int32_t n_zero_key = 0;
    };
    /// Data that another rank and this one exchange. Two ranks agree on the order of both lists.
    struct Neighbor {
        int rank = 0;
        std::vector<int32_t> sent;                   ///< tokens of this rank that visit it
        int64_t visitor_begin = 0, visitor_end = 0;  ///< its tokens here
        /// Parts of a head: (token, table) whose position may be there, or (visitor, table) whose
        /// place may be here; ascending by token, then table.
        struct Part {
            int32_t token = 0, table = 0;
        };
        std::vector<std::vector<Part>> from_it;  ///< (H): this rank's tokens, computed there
        std::vector<std::vector<Part>> to_it;    ///< (H): its tokens, computed here
    };

    TokenPlan() = default;
    TokenPlan(const TokenPlan&) = default;
    TokenPlan& operator=(const TokenPlan&) = default;
    virtual ~TokenPlan() = default;

    /// Collective; regions (C, 2, H). Called again when points move. Throws, on all ranks: shape
    /// (Padding::zero and several clouds; 2^31 tokens on a rank), no_memory.
    void connect(Communicator& comm, const Config& config, std::span<const float> regions,
                 const HomeOrder& home);

    int64_t n_point() const { return n_point_; }                 ///< at home here
    int64_t n_own() const { return n_own_; }                     ///< with copies
    int64_t n_token() const { return n_token_; }                 ///< with visitors
    int64_t n_place() const { return n_place_; }                 ///< of each row, on this rank
    std::span<const int32_t> copied() const { return copied_; }  ///< (n_own - n_point): points
    std::span<const Block> blocks() const { return blocks_; }
    std::span<const Neighbor> neighbors() const { return neighbors_; }  ///< ascending ranks

    /// Returns the cells of row table * H + head, in no order.
    std::span<const Cell> cells(int64_t row) const { return rows_[static_cast<size_t>(row)].cells; }
    std::span<const int32_t> members(int64_t row) const {
        return rows_[static_cast<size_t>(row)].members;
    }
    int64_t largest_cell() const { return largest_cell_; }  ///< of all rows on this rank
    /// Writes the tokens at this rank's places (n_place) of a row in a layer, for its queries or
    /// its keys, and returns true where hashes do not decide about them. Here they always do.
    virtual bool fixed_order(int64_t /*layer*/, int64_t /*row*/, bool /*is_key*/,
                             std::span<int32_t> /*places*/) const {
        return false;
    }

    // For the table of the plan; the same on all ranks.
    int64_t n_cut_cell() const { return n_cut_cell_; }  ///< cells of all rows that ranks share
    /// Tokens of all ranks that visit another rank, counted once for each; and all tokens.
    int64_t n_visit() const { return n_visit_; }
    int64_t n_block_global() const { return n_block_global_; }  ///< of a row, of all ranks
    int64_t n_token_global() const { return n_token_global_; }

    int64_t bytes() const;

private:
    /// Cells of one row, and their tokens.
    struct Row {
        std::vector<Cell> cells;
        std::vector<int32_t> members;
    };
    struct Making;

    void set_own(Making& making, const HomeOrder& home, std::span<const TokenCopy> copies);
    void set_blocks(Making& making, const Config& config, int rank);
    void take_cells(const Making& making, int64_t row, const RowCells& cells, SharedCells& shared);
    void take_shared(const std::vector<TokenKey>& keys, int64_t first_place,
                     const SharedCells& shared);
    void set_neighbors(const Config& config, const SharedCells& shared);
    void require_all_places() const;
    void sum_up(Communicator& comm);

    int64_t n_point_ = 0, n_own_ = 0, n_token_ = 0, n_place_ = 0;
    int64_t largest_cell_ = 0, n_cut_cell_ = 0, n_visit_ = 0, n_token_global_ = 0,
            n_block_global_ = 0;
    std::vector<int32_t> copied_;
    std::vector<Block> blocks_;
    std::vector<Neighbor> neighbors_;
    std::vector<Row> rows_;  // (C H)
};

/// Points of each slab of a cloud of n points that is cut into about r slabs, the last one may have
/// fewer: ceil((1 / r) n), with the two roundings to single precision of the official code (from
/// n = 2^24 on ceil(n / r) in double), and at least 1.
int64_t slab_size(float r, int64_t n);

/// Slab of the point of rank `rank` in such a cloud, from 1.
inline int64_t slab(int64_t rank, float r, int64_t n) {
    return rank / slab_size(r, n) + 1;
}

}  // namespace surrogate::impl::hept
