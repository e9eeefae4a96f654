// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <surrogate/surrogate.hpp>

namespace surrogate::timeloop {

/// Keeps the orderings of the input and the output points of one plan from one checkpoint to the
/// next, because computing an ordering takes longer than writing the rows. An ordering is computed
/// again after points have moved.
struct CheckpointOrders {
    std::array<std::optional<Ordering>, 2> orders;
    std::array<uint64_t, 2> fingerprints = {};  ///< see PlanPoints
    std::array<int64_t, 2> row_bytes = {};      ///< bytes per row of an ordering; 0: no ordering
};

}  // namespace surrogate::timeloop
