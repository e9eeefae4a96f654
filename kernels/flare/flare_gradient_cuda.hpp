// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/flare/flare_gradient_device.hpp"
#include "kernels/flare/gradient.hpp"

namespace surrogate::kernels::flare::cuda {

/// Returns the passes for the table of the family, launched on the thread's current device.
GradientKernels gradient_kernels();
/// Returns the passes for a plug-in; each makes its device current for the launch.
GradientKernels gradient_kernels_on_device();

}  // namespace surrogate::kernels::flare::cuda
