// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/domain/sphere_domain.hpp"
#include "libsurrogate/src/model/family/device_program.hpp"
#include "libsurrogate/src/model/sphere/device_weights.hpp"

namespace surrogate::impl::sphere {

/// Kernels of kernels/sphere for a Transformer, between exchanges of rows. `config` and the domains
/// must outlive it. Local; throws not_supported, invalid_argument (longitudes).
std::unique_ptr<DeviceProgram> make_device_program(const Transformer& config,
                                                   std::shared_ptr<const DeviceWeights> weights,
                                                   const SphereDomain& input,
                                                   const SphereDomain& output,
                                                   const PlanRequest& request);

}  // namespace surrogate::impl::sphere
