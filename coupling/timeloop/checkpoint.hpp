// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <string>

#include "coupling/timeloop/checkpoint_orders.hpp"
#include "coupling/timeloop/snapshot.hpp"

namespace surrogate::timeloop {

/// Writes a snapshot of the points of a plan to `path`; see surrogate_timeloop_save. `context` is
/// the plan's, and `orders` is empty or was used with this plan before. Collective; failures are
/// the same on all ranks (error.hpp).
void save_checkpoint(surrogate_context* context, const surrogate_plan* plan,
                     const Snapshot& snapshot, const std::string& path, CheckpointOrders* orders);

/// Reads a checkpoint into a snapshot whose integrals and fields say what is expected: names,
/// units, types, and room for the values. Collective; failures are the same on all ranks
/// (error.hpp), and have changed nothing.
void restore_checkpoint(surrogate_context* context, const surrogate_plan* plan,
                        const std::string& path, Snapshot* snapshot, CheckpointOrders* orders);

}  // namespace surrogate::timeloop
