// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/home_order.hpp"

namespace surrogate::impl::hept {

/// Breaks ties between the tokens of a cloud: points by their ids, then copies by their numbers.
struct TokenKey {
    int64_t copy = 0;  ///< 0: a point; copy t of the cloud: t + 1
    int64_t id = 0;    ///< id of the point
    friend auto operator<=>(const TokenKey&, const TokenKey&) = default;
};

/// The own tokens of a rank: its points in the order of HomeOrder, then copies of them.
struct OwnTokens {
    std::span<const Place> points;
    std::span<const int32_t> copied;  ///< for each copy its point
    std::span<const TokenKey> keys;
    std::vector<int32_t> by_key;  ///< tokens by ascending keys
    int64_t n_before = 0;         ///< tokens on the ranks before this one

    int64_t size() const { return std::ssize(keys); }
};

/// Entries of the table of regions for one row: the number of regions along coordinates 0 and 1.
struct RowSlabs {
    float along[2];
};
/// Returns the entries of `regions` (C, 2, H) for row table * H + head.
RowSlabs slabs_of(const Config& config, std::span<const float> regions, int64_t row);

/// Computes the cells of one row at a time: the cells in which this rank has tokens, and their
/// positions in the sorted row.
///
/// The owner order sorts by cloud and coordinate 1, and every row sorts by these keys first. A
/// region along coordinate 1 is therefore a contiguous range of this rank's tokens, and it has the
/// same sorted positions in a row as in the owner order. Only the first and the last region of a
/// rank may have tokens on other ranks: the ranks add up the sizes of their cells.
class RowCells {
public:
    struct Cell {
        /// over all ranks: first sorted position in the row, and number of tokens
        int64_t place = 0, size = 0;
        int32_t begin = 0, end = 0;  ///< on this rank, by ascending keys: range of members()
    };

    /// Keeps references to all arguments, which must outlive this object. cloud_sizes (n_cloud):
    /// points per cloud. Local. Throws bad_alloc.
    RowCells(const Config& config, std::span<const int64_t> cloud_sizes, const OwnTokens& tokens);

    /// Computes the cells of the row with these regions. Collective. Throws no_memory on all ranks.
    void connect(Communicator& comm, RowSlabs slabs);

    std::span<const Cell> cells() const { return cells_; }  ///< by ascending sorted positions
    std::span<const int32_t> members() const { return members_; }

private:
    /// A region along coordinate 1, counted from 0.
    struct Slab {
        int64_t cloud = 0, number = 0;
        bool operator==(const Slab&) const = default;
    };
    /// Tokens that a rank has in a cell of its first or last region.
    struct Share {
        Slab slab;
        uint64_t number = 0;  ///< region along coordinate 0
        int64_t n = 0;        ///< tokens
        int64_t place = 0;    ///< sorted position of the region's first token on this rank
    };

    void set_slabs(RowSlabs slabs);
    void sort_members();
    void set_cells();
    std::vector<Share> shares() const;
    void add_up(std::span<const Share> all, int64_t slab);
    uint64_t key(const Cell& cell) const {
        return keys_[static_cast<size_t>(members_[static_cast<size_t>(cell.begin)])];
    }

    const Config& config_;
    std::span<const int64_t> cloud_sizes_;
    const OwnTokens& tokens_;
    std::vector<Slab> slabs_;  // regions of this rank along coordinate 1
    uint64_t n_along_ = 1;     // regions along coordinate 0, at most
    // (n_own): local region along coordinate 1 * n_along_ + region along 0
    std::vector<uint64_t> keys_;
    std::vector<int32_t> slab_of_;  // (n_point)
    std::vector<int32_t> members_, scratch_;
    std::vector<Cell> cells_;
};

}  // namespace surrogate::impl::hept
