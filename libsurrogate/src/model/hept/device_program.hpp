// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/family/device_program.hpp"
#include "libsurrogate/src/model/hept/device_weights.hpp"

namespace surrogate::impl::hept {

/// Creates the program of HEPT on a device, with the kernels of kernels/hept. `config` and the
/// domain must outlive it. Local.
std::unique_ptr<DeviceProgram> make_device_program(const Config& config,
                                                   std::shared_ptr<const DeviceWeights> weights,
                                                   const PointDomain& domain,
                                                   const PlanRequest& request);

}  // namespace surrogate::impl::hept
