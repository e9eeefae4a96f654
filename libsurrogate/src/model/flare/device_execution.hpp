// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/device_weights.hpp"
#include "libsurrogate/src/plan/execution.hpp"

namespace surrogate::impl::flare {

/// FLARE on a domain of points by the passes of a device. Collective; local failures are agreed on.
/// `config`, the domain's context and the request's device must outlive it.
std::unique_ptr<Execution> make_device_execution(const Config& config,
                                                 std::shared_ptr<const DeviceWeights> weights,
                                                 const PointDomain& domain,
                                                 const PlanRequest& request);

}  // namespace surrogate::impl::flare
