// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/ranks/row_route.hpp"

namespace surrogate::impl {

/// Returns the position of every local point in the canonical order of all points of a domain: by
/// global id, or by the bit patterns of the coordinates if the domain has no ids. The order is the
/// same for every number of ranks and every partition. `asker` names the reason, for messages.
/// keeps_clouds: for a model that keeps clouds apart; without ids the cloud comes first, and points
/// of two clouds may have the same coordinates.
///
/// Collective. Throws invalid_argument if two points have the same id or, without ids, the same
/// coordinates (they are named), or if the domain has neither; no_memory. Memory: see
/// sorted_positions(), with keys of one word for an id, or one word for each coordinate and for the
/// cloud.
std::vector<int64_t> canonical_positions(const PointDomain& domain,
                                         const char* asker = "reproducible mode",
                                         bool keeps_clouds = false);

/// Returns the position of every local point among all points of a domain, ordered by (cloud,
/// global id), or by (cloud, coordinates) if the domain has no ids: the points of a cloud are
/// neighbors, in the order that a domain of this cloud alone has. Collective; throws as
/// canonical_positions(), about points of one cloud.
std::vector<int64_t> positions_by_cloud(const PointDomain& domain);

/// Plans the route of the points of a domain to the canonical order, cut into blocks of block_rows
/// rows that are distributed over the ranks: results of a block are the same for every number of
/// ranks and every partition. weightless_last: points of weight 0 come behind all others, and may
/// have the same key as one of those. Collective; throws as canonical_positions().
RowRoute canonical_route(const PointDomain& domain, int64_t block_rows,
                         bool weightless_last = false);

}  // namespace surrogate::impl
