// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/domain/domain.hpp"

namespace surrogate::impl {

/// Points of a cloud, on this rank and on all, and the ranks that have some.
struct CloudCount {
    int64_t n_local = 0, n_global = 0, n_rank = 0;

    bool spans_ranks() const { return n_rank > 1; }
};

/// Counts the points of each cloud of a domain of several, (n_cloud). Collective. Throws no_memory
/// on all ranks.
std::vector<CloudCount> count_clouds(const PointDomain& domain);

}  // namespace surrogate::impl
