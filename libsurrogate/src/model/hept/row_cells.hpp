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

/// Settles ties of the tokens of a cloud: points by their ids, then copies by their numbers.
struct TokenKey {
    int64_t copy = 0;  ///< 0: a point; copy t of the cloud: t + 1
    int64_t id = 0;    ///< of the point
    friend auto operator<=>(const TokenKey&, const TokenKey&) = default;
};

/// The tokens of a rank: its points in the order of HomeOrder, then copies of them.
struct OwnTokens {
    std::span<const Place> points;
    std::span<const int32_t> copied;  ///< of each copy its point
    std::span<const TokenKey> keys;
    std::vector<int32_t> by_key;  ///< tokens by ascending keys
    int64_t n_before = 0;         ///< on the ranks before this one

    int64_t size() const { return std::ssize(keys); }
};

/// The slabs of a row along coordinates 0 and 1: entries of the table of regions.
struct RowSlabs {
    float along[2];
};
RowSlabs slabs_of(const Config& config, std::span<const float> regions, int64_t row);

/// Cells of one row after the other: those in which this rank has tokens, and where they lie.
///
/// The home order sorts by cloud and coordinate 1, and so does every row before anything else. So
/// a slab along coordinate 1 is a run of tokens of this rank, and of a row it takes the places that
/// the tokens take in the home order. Only the first and the last slab of a rank may have tokens on
/// other ranks: their cells are counted together.
class RowCells {
public:
    struct Cell {
        int64_t place = 0, size = 0;  ///< of all ranks: where it begins in the row, and its tokens
        int32_t begin = 0, end = 0;   ///< of this rank, by ascending keys: in members()
    };

    /// All must outlive it. cloud_sizes (n_cloud): points. Local; throws bad_alloc.
    RowCells(const Config& config, std::span<const int64_t> cloud_sizes, const OwnTokens& tokens);

    /// Collective: cells of the row with these slabs. Throws no_memory on all ranks.
    void connect(Communicator& comm, RowSlabs slabs);

    std::span<const Cell> cells() const { return cells_; }  ///< by ascending places
    std::span<const int32_t> members() const { return members_; }

private:
    /// A slab along coordinate 1, here from 0.
    struct Slab {
        int64_t cloud = 0, number = 0;
        bool operator==(const Slab&) const = default;
    };
    /// Part of a cell in a rank's first or last slab.
    struct Share {
        Slab slab;
        uint64_t number = 0;  ///< along coordinate 0
        int64_t n = 0;        ///< tokens
        int64_t place = 0;    ///< of the first token of the slab on this rank
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
    std::vector<Slab> slabs_;       // of this rank
    uint64_t n_along_ = 1;          // slabs along coordinate 0, at most
    std::vector<uint64_t> keys_;    // (n_own): slab along coordinate 1 here * n_along_ + along 0
    std::vector<int32_t> slab_of_;  // (n_point)
    std::vector<int32_t> members_, scratch_;
    std::vector<Cell> cells_;
};

}  // namespace surrogate::impl::hept
