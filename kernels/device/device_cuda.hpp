// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/device/device.hpp"

namespace surrogate::kernels::cuda {

/// Returns the number of devices that are visible to this process; 0 without a driver.
int n_device();

/// Returns true if this machine shows no device at all: there is no driver, or it counts none.
/// Returns false if a device exists that cannot be used, for example with a driver that is too old.
bool is_device_absent();

/// Opens device `index`, or with -1 the current device of the calling thread. Throws not_supported
/// with the runtime's text (no driver, no such device) or with the compiled architectures
/// (device_images.hpp); device if the runtime fails otherwise.
std::unique_ptr<Device> open_device(int index);

/// Throws device if the preceding launch failed. `kernel` is a name for the text.
void check_launch(const char* kernel);

}  // namespace surrogate::kernels::cuda
