// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/domain/edges.hpp"
#include "libsurrogate/src/domain/tree_points.hpp"
#include "libsurrogate/src/ranks/row_route.hpp"

namespace surrogate::impl {

/// Returns edges to each point from its k nearest points: itself, then the others by squared
/// distance, computed in double, and at equal distances by id. A cloud of fewer points has edges
/// from all of them. The result does not depend on the partition. Collective. Throws no_memory on
/// all ranks.
///   points  of this rank, with n_axis coordinates (1 to 3)
///   route   from these points to an ordering in which a rank has points that are close together
/// Method: each rank searches a k-d tree of its points of the ordering; points whose k-th distance
/// reaches the bounding box of another rank are sent there, and the nearest points return.
/// Temporary memory: 40 k bytes per point, and 40 k per point near the border of a rank.
Edges nearest_edges(Communicator& comm, const kernels::Queue& queue, const TreePoints& points,
                    int64_t n_axis, const RowRoute& route, int64_t k);

}  // namespace surrogate::impl
