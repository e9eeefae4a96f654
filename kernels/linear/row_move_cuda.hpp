// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/device.hpp"
#include "kernels/linear/row_move_device.hpp"

/// The pass of row_move_device.hpp, for the tables of families. Enqueued, on the device that is the
/// thread's current one. Throws device.
namespace surrogate::kernels::cuda {

void row_move(const DeviceProperties& device, const MoveArgs& args, Stream stream);
/// Brings the code onto the device.
void load_row_move();

}  // namespace surrogate::kernels::cuda
