// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <surrogate/surrogate.hpp>

namespace surrogate::timeloop {

/// The orders of the input and the output points of one plan, kept from one checkpoint to the next:
/// finding an order takes longer than writing the rows. Made anew where points have moved.
struct CheckpointOrders {
    std::array<std::optional<Ordering>, 2> orders;
    std::array<uint64_t, 2> fingerprints = {};  ///< of this rank's points; see PlanPoints
    std::array<int64_t, 2> row_bytes = {};      ///< that the orders take; 0: no order
};

}  // namespace surrogate::timeloop
