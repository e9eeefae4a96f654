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

/// A point as the regions see it.
struct Place {
    int64_t id = 0;     ///< settles ties; distinct over all ranks
    int64_t cloud = 0;  ///< 0 .. n_cloud - 1
    /// Number of points of the cloud before it, by coordinate 0 (eta) and 1 (phi), ties by id.
    int64_t rank[2] = {0, 0};
};

/// Ordering in which a plan computes its points: sorted by (cloud, coordinate 1, id), a range on
/// every rank. Blocks of all tables and heads lie close to there, because all of them order by
/// coordinate 1 first. Move a point home once and only those near the ends of a range travel in a
/// run.
struct HomeOrder {
    std::vector<int64_t> cloud_sizes;  ///< (n_cloud), of all ranks
    std::vector<int64_t> positions;    ///< (n_local), of the domain's points in the order
    std::vector<int64_t> begins;       ///< (size + 1), as RowRoute takes them
    kernels::Buffer<Place> places;     ///< (n_home), of the points at home on this rank
};

/// The order of the points of `domain`, with coordinates request.coordinates as the network sees
/// them, in single precision. Two sorts over the ranks.
/// Ids: the domain's; without them, in reproducible mode, positions in the canonical order (equal
/// points are refused, and named); otherwise the ranks' points are numbered through.
/// begins follow cuts of the tokens into blocks, balanced_range of all blocks, as TokenPlan does.
/// Collective. Throws, on all ranks: not_finite (a coordinate; the point is named),
/// invalid_argument (equal ids or points), no_memory.
HomeOrder home_order(const Config& config, const PointDomain& domain, const PlanRequest& request);

}  // namespace surrogate::impl::hept
