// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl {

/// Split rule of the nodes of a k-d tree with median splits.
class SplitRule {
public:
    virtual ~SplitRule() = default;

    /// Returns the points of the left child of a node of n_point points; outside of 1 .. n_point -
    /// 1 the node is a leaf. Depends on its arguments only. The root has depth 0. Several threads
    /// call it at once.
    virtual int64_t left(int64_t n_point, int depth) const = 0;

    /// Leaves list their points by ascending id, instead of in the order of their parent's split.
    virtual bool leaves_by_id() const { return false; }
};

/// Points as a tree sees them. The same number of axes on all ranks.
struct SplitPoints {
    int n_axis = 0;                ///< 1 .. 3
    std::span<const double> x;     ///< (n_axis, n_local), finite; -0.0 counts as +0.0
    std::span<const int64_t> ids;  ///< (n_local), distinct over all ranks
};

/// Returns the position of every local point in the order of the leaves of the tree of all points.
/// A node is split along the axis of its largest extent (max - min in double; the lowest axis wins
/// ties, axis 0 if all are 0): its points, sorted by (coordinate, id), give the first rule.left()
/// to the left child. A root that is a leaf lists its points by id. The result does not depend on
/// the distribution of the points, on threads or on begins.
///
/// begins (size + 1): rank r will hold positions begins[r] .. begins[r + 1] - 1, as in RowRoute;
/// decides which rank does which work, not the result. Threads of the queue divide the work of a
/// rank.
///
/// Collective; ranks may have no points. Throws, on all ranks: invalid_argument (coordinates that
/// are not finite, or not below 2^1023 in magnitude, whose extent might overflow: a point is named,
/// and they are counted; equal ids: one is named), no_memory. Memory while it runs: with three axes
/// about 110 bytes per point of this rank, 150 unless all coordinates are single-precision numbers.
///
/// Method: a node that spans several ranks is cut by exact parallel selection (radix histograms of
/// coordinates, then of ids where coordinates are tied; all such nodes of a level in one
/// reduction), until it is small beside the points of a rank; then points move once to the rank of
/// their subtree, which finishes it alone, and positions return.
std::vector<int64_t> split_positions(Communicator& comm, const kernels::Queue& queue,
                                     const SplitPoints& points, const SplitRule& rule,
                                     std::span<const int64_t> begins);

}  // namespace surrogate::impl
