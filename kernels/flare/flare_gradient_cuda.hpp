// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/flare/flare_gradient_device.hpp"
#include "kernels/flare/gradient.hpp"

namespace surrogate::kernels::flare::cuda {

/// For the table of the family: launched on the device that is the thread's current one.
GradientKernels gradient_kernels();
/// The same for a plug-in: each makes its device the current one for the launch.
GradientKernels gradient_kernels_on_device();

}  // namespace surrogate::kernels::flare::cuda
