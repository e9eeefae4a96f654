// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/device.hpp"
#include "kernels/linear/linear_device.hpp"

/// The pass of linear_device.hpp, for the tables of families.
namespace surrogate::kernels::cuda {

/// Enqueued, on the device that is the thread's current one. Throws device.
void linear(const DeviceProperties& device, const LinearArgs& args, Stream stream);
/// Brings the code for an operand onto the device.
void load_linear(const DeviceProperties& device, Operand operand);

}  // namespace surrogate::kernels::cuda
