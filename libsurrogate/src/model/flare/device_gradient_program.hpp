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

/// FLARE on points, forward by the passes of kernels/flare/flare_device.hpp and back by those of
/// flare_gradient_device.hpp, for numbers of the host. Local; throws not_supported for
/// reproducible=true and for heads wider than the passes take. All must outlive it.
///
/// Bits: those of a rank depend on its own points and their order only; the ranks' sums of dz are
/// floats added as the transport adds them.
std::unique_ptr<GradientProgram> make_device_gradient_program(
    const Config& config, const Layers<float>& layers, std::shared_ptr<const DeviceWeights> weights,
    const PointDomain& domain, const PlanRequest& request, const RowCut& cut = {});

}  // namespace surrogate::impl::flare
