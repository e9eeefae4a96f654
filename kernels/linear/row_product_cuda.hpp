// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/linear/row_product_device.hpp"

/// The passes of row_product_device.hpp, for the tables of families. Enqueued, on the device that
/// is the thread's current one. Throw device; not_supported for another operand or activation.
namespace surrogate::kernels::cuda {

void row_product(const DeviceProperties& device, const RowProductArgs& args, Stream stream);
void part_sums(const DeviceProperties& device, const PartSumsArgs& args, Stream stream);
/// Brings the code onto the device.
void load_row_product(const DeviceProperties& device);

}  // namespace surrogate::kernels::cuda
