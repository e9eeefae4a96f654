// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/linear/row_product_device.hpp"

/// The passes of row_product_device.hpp, for the tables of families. They are enqueued on the
/// thread's current device. They throw device; not_supported for another operand or activation.
namespace surrogate::kernels::cuda {

void row_product(const DeviceProperties& device, const RowProductArgs& args, Stream stream);
void part_sums(const DeviceProperties& device, const PartSumsArgs& args, Stream stream);
/// Loads the code onto the device.
void load_row_product(const DeviceProperties& device);

}  // namespace surrogate::kernels::cuda
