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

/// Distribution of tokens over blocks and ranks: all properties of a geometry that are equal in all
/// layers.
///
/// A token is a point, or (Padding::duplicate) a copy of one. Each of the C H rows (table, head)
/// sorts all tokens by (cloud, region along coordinate 1, region along coordinate 0, hash, id) and
/// divides the tokens of each cloud into blocks of block_size. Queries of a block attend to keys of
/// the same block. A cell is the set of tokens with the same first three keys. Only the hash
/// differs between layers and between queries and keys. Each cell therefore has the same sorted
/// positions in a row for all layers, and layers only sort within cells.
///
/// Blocks are numbered over all clouds, the same for every row; rank p computes blocks
/// balanced_range(n_block, p, size) of every row. A cell whose sorted positions are on several
/// ranks is a shared cell. Each of these ranks receives all tokens of the cell and sorts them
/// independently, for its own positions. This selection is exact and needs no collective. A token
/// is sent at most once per layer to each rank that needs it.
///
/// Tokens of a rank are stored in this order: points that it owns, copies of them, ghost tokens
/// from other ranks (in the order of ranks).
class TokenPlan {
public:
    /// Part of a row that this rank sorts: tokens members[begin .. end), points by ascending id
    /// before copies by number. After sorting by hash, the tokens at positions first .. last - 1 of
    /// the cell are written to this rank's positions from `to` on.
    /// Uses 32 bits, because clouds of few points have nearly as many cells as points.
    struct Cell {
        int32_t begin = 0, end = 0;
        int32_t first = 0, last = 0;
        int32_t to = 0;
    };
    /// Positions first .. first + n - 1 of this rank, the same in every row.
    struct Block {
        int64_t first = 0;
        int32_t n = 0;
        int32_t n_zero_key = 0;
    };
    /// Tokens and parts that this rank exchanges with another rank. Both ranks list them in the
    /// same order.
    struct Neighbor {
        int rank = 0;
        std::vector<int32_t> sent;                   ///< own tokens that are ghost tokens there
        int64_t visitor_begin = 0, visitor_end = 0;  ///< its tokens on this rank
        /// Part of a head's sums: (token, table) whose position may be on the neighbor, or (ghost
        /// token, table) whose position may be on this rank; ascending by token, then table.
        struct Part {
            int32_t token = 0, table = 0;
        };
        std::vector<std::vector<Part>> from_it;  ///< (H): own tokens, computed by the neighbor
        std::vector<std::vector<Part>> to_it;    ///< (H): its tokens, computed on this rank
    };

    TokenPlan() = default;
    TokenPlan(const TokenPlan&) = default;
    TokenPlan& operator=(const TokenPlan&) = default;
    virtual ~TokenPlan() = default;

    /// Builds the plan; regions (C, 2, H). May be called again when points move. Collective.
    /// Throws, on all ranks: shape (Padding::zero and several clouds; 2^31 tokens on a rank),
    /// no_memory.
    void connect(Communicator& comm, const Config& config, std::span<const float> regions,
                 const HomeOrder& home);

    int64_t n_point() const { return n_point_; }  ///< points that this rank owns
    int64_t n_own() const { return n_own_; }      ///< with copies
    int64_t n_token() const { return n_token_; }  ///< with ghost tokens
    int64_t n_place() const { return n_place_; }  ///< sorted positions of each row on this rank
    /// Returns the points of copies (n_own - n_point).
    std::span<const int32_t> copied() const { return copied_; }
    /// Returns ids of the points (n_own); copies have the number of points of all clouds, plus the
    /// number of the copy, counted over all clouds.
    std::span<const int64_t> ids() const { return ids_; }
    std::span<const Block> blocks() const { return blocks_; }
    /// Returns the first point of each block (number of blocks + 1) when the points of a cloud are
    /// divided into blocks in the owner order; a rank owns whole blocks of points.
    std::span<const int64_t> block_points() const { return block_points_; }
    std::span<const Neighbor> neighbors() const { return neighbors_; }  ///< by ascending rank

    /// Returns the cells of row table * H + head, in unspecified order.
    std::span<const Cell> cells(int64_t row) const { return rows_[static_cast<size_t>(row)].cells; }
    std::span<const int32_t> members(int64_t row) const {
        return rows_[static_cast<size_t>(row)].members;
    }
    int64_t largest_cell() const { return largest_cell_; }  ///< over all rows on this rank
    /// Writes the tokens at this rank's sorted positions (n_place) of a row in a layer, for its
    /// queries or its keys, and returns true if the order does not depend on hashes. This class
    /// always returns false; tests override it.
    virtual bool fixed_order(int64_t /*layer*/, int64_t /*row*/, bool /*is_key*/,
                             std::span<int32_t> /*places*/) const {
        return false;
    }

    // For the table of the plan; the same on all ranks:
    int64_t n_cut_cell() const { return n_cut_cell_; }  ///< shared cells of all rows
    /// Returns the number of ghost tokens of all ranks; a token counts once for each rank that
    /// receives it.
    int64_t n_visit() const { return n_visit_; }
    int64_t n_block_global() const { return n_block_global_; }  ///< per row, over all ranks
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
    void set_ids(const Config& config, const HomeOrder& home, std::span<const TokenCopy> copies);
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
    std::vector<int64_t> ids_;
    std::vector<Block> blocks_;
    std::vector<int64_t> block_points_;
    std::vector<Neighbor> neighbors_;
    std::vector<Row> rows_;  // (C H)
};

/// Returns the number of points of each region of a cloud of n points that is divided into about r
/// regions; the last region may have fewer points: ceil((1 / r) n), with the two roundings to
/// single precision of the official code (from n = 2^24 on ceil(n / r) in double), and at least 1.
int64_t slab_size(float r, int64_t n);

/// Returns the region, counted from 1, of the point of rank `rank` in such a cloud.
inline int64_t slab(int64_t rank, float r, int64_t n) {
    return rank / slab_size(r, n) + 1;
}

}  // namespace surrogate::impl::hept
