// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/device/device.hpp"

namespace surrogate::kernels::cuda {

/// Devices that the driver shows to this process; 0 without a driver.
int n_device();

/// Device `index`, or with -1 the one that is current in the calling thread. Throws not_supported
/// with the runtime's words (no driver, no such device) or with the architectures that were
/// compiled (device_images.hpp); device if the runtime fails otherwise.
std::unique_ptr<Device> open_device(int index);

/// After a launch: throws device if it was refused. `kernel` is a name for the text.
void check_launch(const char* kernel);

}  // namespace surrogate::kernels::cuda
