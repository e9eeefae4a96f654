// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl {

/// Sends each row, a trivially copyable value, to rank rank_of(row). Returns the rows that this
/// rank receives, by rank; rows of one rank keep their order. Collective. Throws no_memory on all
/// ranks.
template <class Row, class RankOf>
std::vector<Row> send_rows(Communicator& comm, const std::vector<Row>& rows,
                           const RankOf& rank_of) {
    std::vector<int64_t> to_each, from_each;
    std::vector<Row> sorted, received;
    comm.agree([&] {
        to_each.assign(static_cast<size_t>(comm.size()), 0);
        from_each.assign(to_each.size(), 0);
        for (const Row& row : rows) ++to_each[static_cast<size_t>(rank_of(row))];
        std::vector<int64_t> place(to_each.size());
        std::exclusive_scan(to_each.begin(), to_each.end(), place.begin(), int64_t{0});
        sorted.resize(rows.size());
        for (const Row& row : rows)
            sorted[static_cast<size_t>(place[static_cast<size_t>(rank_of(row))]++)] = row;
    });
    comm.all_to_all_counts(to_each, from_each);
    comm.agree([&] {
        const int64_t n = std::accumulate(from_each.begin(), from_each.end(), int64_t{0});
        received.resize(static_cast<size_t>(n));
        comm.reserve_rows(to_each, from_each, sizeof(Row));
    });
    comm.all_to_all(sorted.data(), to_each, received.data(), from_each, sizeof(Row));
    return received;
}

}  // namespace surrogate::impl
