// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/launch.cuh"
#include "kernels/hept/hept_device.hpp"

/// Functions that the files of HEPT's kernels share.
namespace surrogate::kernels::hept::cuda {

using namespace surrogate::kernels::cuda;

void begin(const DeviceProperties& device, const BeginArgs& args, Stream stream);
void augment(const DeviceProperties& device, const AugmentArgs& args, Stream stream);
void order(const DeviceProperties& device, const OrderArgs& args, Stream stream);
void attend(const DeviceProperties& device, const AttendArgs& args, Stream stream);
void combine(const DeviceProperties& device, const CombineArgs& args, Stream stream);
void squash(const DeviceProperties& device, const SquashArgs& args, Stream stream);
void end(const DeviceProperties& device, const EndArgs& args, Stream stream);
void share(const DeviceProperties& device, const ShareArgs& args, Stream stream);
void load_tokens(Operand operand);
void load_order();
void load_attention(const DeviceHead& head);

}  // namespace surrogate::kernels::hept::cuda
