// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/bsa/device_erwin_weights.hpp"
#include "libsurrogate/src/model/family/device_program.hpp"

namespace surrogate::impl::bsa::erwin {

/// Creates the program of Erwin's U-net on a device, with the kernels of kernels/bsa, on one rank.
/// `config` and the domain must outlive it. Local. Throws not_supported.
std::unique_ptr<DeviceProgram> make_device_program(const Config& config,
                                                   std::shared_ptr<const DeviceWeights> weights,
                                                   const PointDomain& domain,
                                                   const PlanRequest& request);

}  // namespace surrogate::impl::bsa::erwin
