// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/domain/columns.hpp"
#include "libsurrogate/src/domain/domain.hpp"

namespace surrogate::impl {

/// Input of a tree of points: their coordinates as the network sees them, and numbers that
/// settle ties.
struct TreePoints {
    kernels::Buffer<float> x;      ///< (n_axis, n_local): normalised in double, rounded once
    kernels::Buffer<int64_t> ids;  ///< (n_local), distinct over all ranks
};

/// Requirements of a caller on the points.
struct TreeRules {
    const char* asker = "a tree of points";
    int64_t min_axis = 1, max_axis = 3;
    bool keeps_clouds = false;  ///< see canonical_positions()
};

/// The points of `domain`, whose positions are the columns `coordinates` (one an axis).
/// Numbers are the domain's ids. Without ids: in reproducible mode positions in the canonical order
/// (equal points are refused, and named); otherwise the ranks' points are numbered through, which
/// depends on the partition where coordinates are tied.
/// Collective. Throws, on all ranks: not_finite (a position; the point is named), shape (not as
/// many coordinates as the rules say), invalid_argument (equal points, where they must differ),
/// no_memory. Equal ids are refused by split_positions().
TreePoints tree_points(const PointDomain& domain, std::span<const Column> coordinates,
                       bool is_reproducible, const TreeRules& rules = {});

}  // namespace surrogate::impl
