// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/ranks/row_route.hpp"

namespace surrogate::impl::hept {

/// Identity and ranks of a point, from which its regions are computed.
struct Place {
    int64_t id = 0;     ///< breaks ties; distinct over all ranks
    int64_t cloud = 0;  ///< 0 .. n_cloud - 1
    /// Number of points of the cloud before this point along coordinate 0 (eta) and 1 (phi); ties
    /// are broken by id.
    int64_t rank[2] = {0, 0};
};

/// Partition of the points over owner ranks: points are sorted by (cloud, coordinate 1, id), and
/// each rank owns a range. Blocks of all tables and heads contain mostly neighbors in this order,
/// because all of them sort by coordinate 1 first. Points are sent to their owner rank once; in a
/// run only tokens near the ends of a range are exchanged.
struct HomeOrder {
    std::vector<int64_t> cloud_sizes;  ///< (n_cloud), over all ranks
    std::vector<int64_t> positions;    ///< (n_local), of the domain's points in the owner order
    std::vector<int64_t> begins;       ///< (size + 1), in the form that RowRoute expects
    kernels::Buffer<Place> places;     ///< (n_home), of the points that this rank owns
};

/// Computes the owner order of the points of `domain`, from request.coordinates in the network's
/// units and in single precision. Sorts twice over all ranks.
/// Ids are the domain's ids. A domain without ids uses positions in the canonical order in
/// reproducible mode (equal points are rejected, and named), and otherwise numbers the ranks'
/// points consecutively.
/// `begins` follows the partition of the tokens into blocks: balanced_range of all blocks, as in
/// TokenPlan.
/// Collective. Throws, on all ranks: not_finite (a coordinate; the point is named),
/// invalid_argument (equal ids or points), no_memory.
HomeOrder home_order(const Config& config, const PointDomain& domain, const PlanRequest& request);

}  // namespace surrogate::impl::hept
