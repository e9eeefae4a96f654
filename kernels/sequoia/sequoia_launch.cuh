// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/launch.cuh"
#include "kernels/sequoia/sequoia_device.hpp"

/// Shared by the kernels of Sequoia: the mapping of rows to nodes, and the launches of each file.
namespace surrogate::kernels::sequoia::cuda {

using namespace surrogate::kernels::cuda;

/// Returns the number of nodes per tile.
__device__ inline int width_of(int64_t k) {
    return static_cast<int>(tile_rows / k * k);
}

/// Returns the node in row `row` of tile `tile` of a level, or -1.
__device__ inline int64_t node_in(const DeviceLevel& level, int width, int64_t tile, int row) {
    const int64_t node = level.origin + tile * width + row;
    return row < width && node >= level.begin && node < level.end ? node : -1;
}

void begin(const DeviceProperties& device, const BeginArgs& args, Stream stream);
void average(const DeviceProperties& device, const AverageArgs& args, Stream stream);
void mark(const DeviceProperties& device, const MarkArgs& args, Stream stream);
void children(const DeviceProperties& device, const ChildrenArgs& args, Stream stream);
void attend(const DeviceProperties& device, const AttendArgs& args, Stream stream);
void pack(const DeviceProperties& device, const CutArgs& args, Stream stream);
void unpack(const DeviceProperties& device, const CutArgs& args, Stream stream);
void end(const DeviceProperties& device, const EndArgs& args, Stream stream);
void deliver(const DeviceProperties& device, const DeliverArgs& args, Stream stream);
void normalise(const DeviceProperties& device, const NormArgs& args, Stream stream);
void add_up(const DeviceProperties& device, const SumArgs& args, Stream stream);
void mean(const DeviceProperties& device, const MeanArgs& args, Stream stream);
void load_nodes();
void load_readout();
void load_attention(Operand operand);

}  // namespace surrogate::kernels::sequoia::cuda
