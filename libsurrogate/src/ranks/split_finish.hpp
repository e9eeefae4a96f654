// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "libsurrogate/src/ranks/split_levels.hpp"
#include "libsurrogate/src/ranks/split_subtree.hpp"

namespace surrogate::impl {

/// Finishes all nodes of a share that has all their points. Returns the position of each number.
/// Local; throws no_memory.
template <class Record>
std::vector<int64_t> finish_share(const kernels::Queue& queue, const SplitRule& rule,
                                  const SplitSurvey& survey, SplitShare<Record>& share) {
    const int64_t n = share.records.size();
    std::vector<int64_t> positions(static_cast<size_t>(n));
    if (queue.n_thread() > 1) {
        // All threads cut large nodes together, so that there is work for each.
        constexpr int64_t small = 2000;  // not worth a barrier
        const int64_t limit = std::max(small, n / (4 * queue.n_thread()));
        const auto alone = self_communicator();
        SplitLevels<Record>(*alone, queue, rule, survey, share).cut([&](const SplitNode& node) {
            return node.n_point > limit;
        });
    }
    // A thread takes the nodes whose middle is in its share of the points.
    for_thread_shares(queue, n, [&](Range range, size_t) {
        SplitSubtree<Record> subtree(rule, positions.data());
        for (const SplitNode& node : share.nodes) {
            const int64_t middle = node.begin + node.n_own / 2;
            if (middle >= range.begin && middle < range.end)
                subtree.finish(node, share.points(node), share.room(node));
        }
    });
    return positions;
}

}  // namespace surrogate::impl
