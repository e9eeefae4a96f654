// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/launch.cuh"
#include "kernels/sphere/sphere_device.hpp"

/// Declares the launches of each file of the sphere's kernels.
namespace surrogate::kernels::sphere::cuda {

using namespace surrogate::kernels::cuda;

void read(const DeviceProperties& device, const ReadArgs& args, Stream stream);
void gather(const DeviceProperties& device, const GatherArgs& args, Stream stream);
void mix(const DeviceProperties& device, const MixArgs& args, Stream stream);
void copy(const DeviceProperties& device, const CopyArgs& args, Stream stream);
void rings(const DeviceProperties& device, const RingsArgs& args, Stream stream);
void norm(const DeviceProperties& device, const NormArgs& args, Stream stream);
void moments(const DeviceProperties& device, const MomentsArgs& args, Stream stream);
void instance_norm(const DeviceProperties& device, const InstanceNormArgs& args, Stream stream);
void attend(const DeviceProperties& device, const AttendArgs& args, Stream stream);
/// attend() to all points, for heads of at most 128 channels.
void attend_all(const DeviceProperties& device, const AttendArgs& args, Stream stream);
void planes(const DeviceProperties& device, const PlanesArgs& args, Stream stream);
void write(const DeviceProperties& device, const WriteArgs& args, Stream stream);
void load_geometry(const DeviceProperties& device);
void load_norms(const DeviceProperties& device, Operand operand);
void load_attention(const DeviceProperties& device, Operand operand);
void load_attention_to_all(const DeviceProperties& device, Operand operand);

}  // namespace surrogate::kernels::sphere::cuda
