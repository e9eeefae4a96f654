// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl {

/// The ids of this rank's rows in ascending order. The i-th of them is said to have number i.
class IdOrder {
public:
    IdOrder() = default;
    /// Sorts the ids, which outlive the order. Memory: none if they are sorted, else 16 bytes per
    /// row, and up to 32 more while they are sorted. Local; throws bad_alloc.
    explicit IdOrder(std::span<const int64_t> ids);

    std::span<const int64_t> sorted() const { return sorted_; }
    int64_t id(uint64_t number) const { return sorted_[number]; }
    bool is_in_rows() const { return numbers_.empty(); }  ///< numbers are rows
    uint64_t number(int64_t row) const {
        return is_in_rows() ? static_cast<uint64_t>(row) : numbers_[static_cast<size_t>(row)];
    }
    /// Returns how many ids are smaller.
    uint64_t n_below(int64_t id) const;

private:
    bool number_dense(std::span<const int64_t> ids);
    void number_sorted(std::span<const int64_t> ids);

    std::vector<int64_t> storage_;   // sorted ids, empty if the rows are in order
    std::vector<uint64_t> numbers_;  // of each row, empty if the rows are in order
    std::span<const int64_t> sorted_;
};

/// Throws invalid_argument on all ranks if an id occurs twice; the message names it. Collective. If
/// the id ranges of the ranks do not overlap, one small message is sufficient. Dense ids (on
/// average one in 16 numbers is used) are sent once. Other ids are sorted over the ranks.
void require_distinct(Communicator& comm, const IdOrder& order);

}  // namespace surrogate::impl
