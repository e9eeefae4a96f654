// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"

namespace surrogate::impl::sequoia {

/// Returns the leaf of each local point: by median splits of the positions, or for a sequence by
/// ascending global id. begins: first leaf of each rank, see RowRoute.
/// Collective. Throws, on all ranks, the errors of tree_points() and canonical_positions(), and
/// invalid_argument for a sequence without ids.
std::vector<int64_t> leaf_positions(const Config& config, const PointDomain& domain,
                                    const PlanRequest& request, std::span<const int64_t> begins);

}  // namespace surrogate::impl::sequoia
