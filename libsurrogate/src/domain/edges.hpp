// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl {

/// Edges between points, at the ranks that own their targets: local point i is the target of edges
/// first[i] .. first[i + 1] - 1, in ascending order of the global ids of their sources. What is
/// summed up in this order does not depend on the partition.
struct Edges {
    std::vector<int64_t> first;        ///< (n_local + 1)
    std::vector<int32_t> source_rank;  ///< (edges of this rank's points) who owns the source
    std::vector<int64_t> source_row;   ///< likewise: its local number there
    std::vector<int64_t> source_id;    ///< likewise: its global id
};

/// Edges as they are given, by global ids.
struct EdgeIds {
    std::span<const int64_t> source, target;  ///< (n_edge)
};

/// Sends edges, which any rank may provide, to the owner ranks of their targets. ids: ids of this
/// rank's points. Collective. Throws on all ranks: invalid_argument if no point has an id that an
/// edge names, or two points have the same id (the message names it); no_memory.
/// Method: a directory of ids, distributed over the ranks by a hash; edges are sent to the rank
/// with the entry of their target, then to the rank with the entry of their source. Temporary
/// memory: 24 bytes per point, 96 per edge.
Edges locate_edges(Communicator& comm, std::span<const int64_t> ids, const EdgeIds& edges);

}  // namespace surrogate::impl
