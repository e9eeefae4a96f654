// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/ranks/id_order.hpp"
#include "libsurrogate/src/ranks/split_record.hpp"
#include "libsurrogate/src/ranks/thread_shares.hpp"

namespace surrogate::impl {

/// Points of a rank: they come as rows, and are moved from node to node while these are cut.
template <class Record>
struct SplitShare {
    IdOrder ids;  ///< of the rows
    /// (n_local) both. Of each node, one of the two holds the points, and the other has room.
    kernels::Buffer<Record> records, spare;
    std::vector<SplitNode> nodes;  ///< in the order of their positions

    Record* points(const SplitNode& node) {
        return (node.is_in_spare ? spare : records).data() + node.begin;
    }
    Record* room(const SplitNode& node) {
        return (node.is_in_spare ? records : spare).data() + node.begin;
    }

    /// Sorts data by number of a point into the order of the rows.
    std::vector<int64_t> in_rows(const kernels::Queue& queue,
                                 std::vector<int64_t> by_number) const {
        if (ids.is_in_rows()) return by_number;
        std::vector<int64_t> by_row(by_number.size());
        for_thread_shares(queue, std::ssize(by_row), [&](Range rows, size_t) {
            for (int64_t row = rows.begin; row < rows.end; ++row)
                by_row[static_cast<size_t>(row)] = by_number[ids.number(row)];
        });
        return by_row;
    }
};

}  // namespace surrogate::impl
