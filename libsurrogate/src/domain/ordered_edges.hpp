// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "libsurrogate/src/domain/edges.hpp"
#include "libsurrogate/src/ranks/row_route.hpp"

namespace surrogate::impl {

/// Sends edges to the ranks that hold their targets in an ordering of the points. Returns them as
/// edges between rows of the ordering, without ids. Edges of a target keep their order. Collective.
/// Throws no_memory on all ranks.
///   route   from the points of `edges` to the ordering
///   begins  (size + 1) first position of each rank in the ordering
/// Method: edges are sent to the rank of their source, which adds its position, then to the rank of
/// their target's position. Temporary memory: 72 bytes per edge.
Edges ordered_edges(Communicator& comm, const Edges& edges, const RowRoute& route,
                    std::span<const int64_t> begins);

}  // namespace surrogate::impl
