// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/device/device.hpp"

namespace surrogate::kernels::cuda {

/// Devices that the driver shows to this process; 0 without a driver.
int n_device();

/// Returns true if this machine shows no device at all: there is no driver, or it counts none.
/// False if there is one that cannot be used, as by a driver that is too old.
bool is_device_absent();

/// Device `index`, or with -1 the one that is current in the calling thread. Throws not_supported
/// with the runtime's words (no driver, no such device) or with the architectures that were
/// compiled (device_images.hpp); device if the runtime fails otherwise.
std::unique_ptr<Device> open_device(int index);

/// After a launch: throws device if it was refused. `kernel` is a name for the text.
void check_launch(const char* kernel);

}  // namespace surrogate::kernels::cuda
