// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/device_rows.hpp"
#include "libsurrogate/src/model/flare/device_weights.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"

namespace surrogate::impl::flare {

/// Creates the program for FLARE on points with gradients. Forward uses the passes of
/// kernels/flare/flare_device.hpp, backward the passes of flare_gradient_device.hpp; inputs and
/// outputs are host arrays. Local. Throws not_supported for reproducible=true and for heads that
/// are too wide for the passes. All arguments must outlive the program.
///
/// Reproducibility: the results of one rank depend only on its own points and their order. The sums
/// of dz over ranks are floats, added in the order of the transport.
std::unique_ptr<GradientProgram> make_device_gradient_program(
    const Config& config, const Layers<float>& layers, std::shared_ptr<const DeviceWeights> weights,
    const PointDomain& domain, const PlanRequest& request, const RowCut& cut = {});

}  // namespace surrogate::impl::flare
