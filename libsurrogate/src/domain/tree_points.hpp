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
    kernels::Buffer<float> x;      ///< (n_axis, n_local): normalized in double, rounded once
    kernels::Buffer<int64_t> ids;  ///< (n_local), distinct over all ranks
};

/// Requirements of a caller on the points.
struct TreeRules {
    const char* asker = "a tree of points";
    int64_t min_axis = 1, max_axis = 3;
    bool keeps_clouds = false;  ///< see canonical_positions()
};

/// Returns the points of `domain`, whose positions are the columns `coordinates` (one per axis).
/// The ids are the domain's ids. Without ids, reproducible mode uses positions in the canonical
/// ordering (throws if points are equal); otherwise the points are numbered rank by rank, and the
/// result depends on the partition where coordinates are tied. Collective. Throws on all ranks:
/// not_finite (a position; the message names the point), shape (number of coordinates differs from
/// the rules), invalid_argument (equal points, where they must differ; the message names them),
/// no_memory. split_positions() throws for equal ids.
TreePoints tree_points(const PointDomain& domain, std::span<const Column> coordinates,
                       bool is_reproducible, const TreeRules& rules = {});

}  // namespace surrogate::impl
