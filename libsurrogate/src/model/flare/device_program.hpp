// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/family/device_program.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/device_weights.hpp"

namespace surrogate::impl::flare {

/// FLARE on points by the passes of kernels/flare/flare_device.hpp. Local; throws not_supported if
/// the plug-in has no kernels of FLARE. `config`, the domain's context and the request's device
/// must outlive it.
std::unique_ptr<DeviceProgram> make_device_program(const Config& config,
                                                   std::shared_ptr<const DeviceWeights> weights,
                                                   const PointDomain& domain,
                                                   const PlanRequest& request);

}  // namespace surrogate::impl::flare
