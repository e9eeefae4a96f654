// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/hept/row_cells.hpp"

namespace surrogate::impl::hept {

/// Cells whose places or tokens lie on several ranks: every rank tells those that compute a cell
/// which tokens it has there.
class SharedCells {
public:
    /// Part of a cell on one rank.
    struct Part {
        int64_t row = 0;
        int64_t place = 0, size = 0;  ///< of the cell
        int64_t begin = 0, end = 0;   ///< in members(), by ascending keys
    };
    /// The tokens of another rank that visit this one, and the parts that it sent.
    struct Source {
        int64_t visitor_begin = 0, visitor_end = 0;  ///< counted from the first visitor
        int64_t part_begin = 0, part_end = 0;        ///< in visiting()
    };

    /// places (size + 1): the first place of each rank. Local.
    SharedCells(int rank, std::span<const int64_t> places) : rank_(rank), places_(places) {}

    /// Which ranks compute places of a cell: the first and the last of them.
    int rank_of(int64_t place) const;
    bool is_shared(const RowCells::Cell& cell) const;

    /// Local: this rank's part of a cell.
    void add(int64_t row, const RowCells::Cell& cell, std::span<const int32_t> members);

    /// Collective: keys (n_own) of the own tokens. Throws no_memory on all ranks.
    void exchange(Communicator& comm, std::span<const TokenKey> keys);

    std::span<const Part> own() const { return own_; }
    std::span<const Part> visiting() const { return visiting_; }  ///< by ranks
    std::span<const TokenKey> visitors() const { return visitors_; }
    /// Tokens: own ones, and visitors from n_own on in the order of visitors().
    std::span<const int32_t> members(const Part& part) const {
        return std::span(members_).subspan(static_cast<size_t>(part.begin),
                                           static_cast<size_t>(part.end - part.begin));
    }

    // After exchange(); of rank r.
    int n_rank() const { return static_cast<int>(sources_.size()); }
    const Source& source(int r) const { return sources_[static_cast<size_t>(r)]; }
    /// Own tokens that visit it, ascending.
    std::span<const int32_t> sent(int r) const { return sent_[static_cast<size_t>(r)]; }
    /// Numbers in own() of the parts that it was told of.
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
    std::vector<int32_t> members_;  // of own parts, then of visiting ones
    std::vector<Source> sources_;   // (size)
    std::vector<std::vector<int32_t>> sent_;
    std::vector<std::vector<int64_t>> told_;
};

}  // namespace surrogate::impl::hept
