// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <string>

#include "coupling/timeloop/checkpoint_orders.hpp"
#include "coupling/timeloop/snapshot.hpp"

namespace surrogate::timeloop {

/// Writes a snapshot of the points of a plan to `path`; see surrogate_timeloop_save. `context` is
/// the context of the plan. `orders` is empty or was used with this plan before. Collective; errors
/// are the same on all ranks (error.hpp).
void save_checkpoint(surrogate_context* context, const surrogate_plan* plan,
                     const Snapshot& snapshot, const std::string& path, CheckpointOrders* orders);

/// Reads a checkpoint into a snapshot. Its integrals and fields hold the expected names, units and
/// types, and have space for the values. Collective; errors are the same on all ranks (error.hpp)
/// and leave the snapshot unchanged.
void restore_checkpoint(surrogate_context* context, const surrogate_plan* plan,
                        const std::string& path, Snapshot* snapshot, CheckpointOrders* orders);

}  // namespace surrogate::timeloop
