// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/hept/row_cells.hpp"

namespace surrogate::impl::hept {

/// Exchanges the tokens of shared cells (cells whose positions or tokens are on several ranks):
/// every rank sends its tokens of a cell to the ranks that compute the cell.
class SharedCells {
public:
    /// Tokens of one rank in a cell.
    struct Part {
        int64_t row = 0;
        int64_t place = 0, size = 0;  ///< first sorted position and number of tokens of the cell
        int64_t begin = 0, end = 0;   ///< range of members(), by ascending keys
    };
    /// Ghost tokens that another rank sent to this rank, and their parts of cells.
    struct Source {
        int64_t visitor_begin = 0, visitor_end = 0;  ///< counted from the first ghost token
        int64_t part_begin = 0, part_end = 0;        ///< range of visiting()
    };

    /// Keeps a reference to places (size + 1), the first sorted position of each rank. Local.
    SharedCells(int rank, std::span<const int64_t> places) : rank_(rank), places_(places) {}

    /// Returns the rank that computes a sorted position. The ranks of a cell's first and last
    /// position are the first and last rank that compute the cell.
    int rank_of(int64_t place) const;
    bool is_shared(const RowCells::Cell& cell) const;

    /// Adds this rank's part of a cell. Local.
    void add(int64_t row, const RowCells::Cell& cell, std::span<const int32_t> members);

    /// Exchanges ghost tokens and parts. keys (n_own): keys of the own tokens. Collective. Throws
    /// no_memory on all ranks.
    void exchange(Communicator& comm, std::span<const TokenKey> keys);

    std::span<const Part> own() const { return own_; }
    std::span<const Part> visiting() const { return visiting_; }  ///< sorted by rank
    std::span<const TokenKey> visitors() const { return visitors_; }
    /// Returns the tokens of a part: own tokens, or ghost tokens, numbered from n_own on by
    /// sending rank.
    std::span<const int32_t> members(const Part& part) const {
        return std::span(members_).subspan(static_cast<size_t>(part.begin),
                                           static_cast<size_t>(part.end - part.begin));
    }

    // Valid after exchange(), for rank r:
    int n_rank() const { return static_cast<int>(sources_.size()); }
    const Source& source(int r) const { return sources_[static_cast<size_t>(r)]; }
    /// Returns the own tokens that are ghost tokens on rank r, ascending.
    std::span<const int32_t> sent(int r) const { return sent_[static_cast<size_t>(r)]; }
    /// Returns the indices in own() of the parts that were sent to rank r.
    std::span<const int64_t> told(int r) const { return told_[static_cast<size_t>(r)]; }

private:
    struct Letter;
    void list_receivers(int size, int64_t n_own);
    Letter write(std::span<const TokenKey> keys) const;
    void read(const Letter& letter, int64_t n_own);

    int rank_;
    std::span<const int64_t> places_;
    std::vector<Part> own_, visiting_;
    std::vector<TokenKey> visitors_;
    std::vector<int32_t> members_;  // of own parts, then of received parts
    std::vector<Source> sources_;   // (size)
    std::vector<std::vector<int32_t>> sent_;
    std::vector<std::vector<int64_t>> told_;
};

}  // namespace surrogate::impl::hept
