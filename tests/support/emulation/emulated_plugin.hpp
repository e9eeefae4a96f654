// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emulated_device.hpp"
#include "libsurrogate/src/device/device_plugin.hpp"

namespace surrogate::test {

/// Returns the device that emulated_plugin() opens, as device 0 of this process. Assign a new one
/// to begin again, with other properties or after a fault; devices opened before keep the old one.
EmulatedDevice& emulated_device();

/// The kernels of the project on emulated_device(): every open() is another handle to it.
const impl::DevicePlugin& emulated_plugin();

}  // namespace surrogate::test
