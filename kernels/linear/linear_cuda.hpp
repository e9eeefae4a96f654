// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/device.hpp"
#include "kernels/linear/linear_device.hpp"

/// The pass of linear_device.hpp, for the tables of families.
namespace surrogate::kernels::cuda {

/// Enqueues a layer on the thread's current device. Throws device.
void linear(const DeviceProperties& device, const LinearArgs& args, Stream stream);
/// Loads the code for an operand onto the device.
void load_linear(const DeviceProperties& device, Operand operand);

}  // namespace surrogate::kernels::cuda
