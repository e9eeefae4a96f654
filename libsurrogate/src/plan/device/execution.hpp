// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/plan/execution.hpp"

namespace surrogate::impl {

/// Throws not_supported if a stream of the caller's is being captured into a graph, which a run on
/// it would invalidate. Local.
void require_not_captured(kernels::Device& device, kernels::Stream stream);

/// Makes the run of all families on a device: the network's DeviceProgram between ports, on a
/// stream. `network`, the domain's context and the request's device must outlive it. Collective;
/// local failures are agreed on. Throws not_supported, no_memory, device.
std::unique_ptr<Execution> make_device_execution(const Network& network,
                                                 const PlanRequest& request);

}  // namespace surrogate::impl
