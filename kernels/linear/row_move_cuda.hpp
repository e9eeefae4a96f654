// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/device.hpp"
#include "kernels/linear/row_move_device.hpp"

/// The pass of row_move_device.hpp, for the tables of families. It is enqueued on the thread's
/// current device. Throws device.
namespace surrogate::kernels::cuda {

void row_move(const DeviceProperties& device, const MoveArgs& args, Stream stream);
/// Loads the code onto the device.
void load_row_move();

}  // namespace surrogate::kernels::cuda
