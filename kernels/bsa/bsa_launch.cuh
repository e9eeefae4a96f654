// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/bsa/bsa_device.hpp"
#include "kernels/device/launch.cuh"

/// Shared by the kernels of Ball Sparse Attention: offsets of heads, and the launches of each file.
namespace surrogate::kernels::bsa::cuda {

using namespace surrogate::kernels::cuda;

/// Returns the offset of a lane's two channels (2t, 2t + 1) of group 0 of a row.
__device__ inline int64_t place_in(int64_t row, int64_t width, int t) {
    const auto tile = static_cast<int64_t>(static_cast<uint64_t>(row) / tile_rows);
    const int r = static_cast<int>(row) & (static_cast<int>(tile_rows) - 1);
    return tile * width * tile_rows + ((r & 7) * 4 + t) * 4 + (r >> 3) * 2;
}
constexpr int64_t group_step = 128;  ///< floats from one group of 8 channels to the next

/// Returns the offset of a lane's two channels of item `item` of a head.
__device__ inline int64_t place_in(const HeadRows& rows, int64_t item, int head, int t) {
    return place_in(item * rows.items + head * int64_t{rows.heads}, rows.width, t) +
           (rows.first + head * rows.head_channels) / 8 * group_step;
}
/// Returns one number of item `item` of a head.
__device__ inline float number_in(const HeadRows& rows, int64_t item, int head, int c) {
    return rows.stream[fragment_index(item * rows.items + head * int64_t{rows.heads},
                                      rows.first + head * rows.head_channels + c, rows.width)];
}

void begin(const DeviceProperties& device, const BeginArgs& args, Stream stream);
void start(const DeviceProperties& device, const StartArgs& args, Stream stream);
void fold(const DeviceProperties& device, const FoldArgs& args, Stream stream);
void choose(const DeviceProperties& device, const ChooseArgs& args, Stream stream);
void attend(const DeviceProperties& device, const AttendArgs& args, Stream stream);
void residual(const DeviceProperties& device, const ResidualArgs& args, Stream stream);
void end(const DeviceProperties& device, const EndArgs& args, Stream stream);
void message(const DeviceProperties& device, const MessageArgs& args, Stream stream);
void update(const DeviceProperties& device, const UpdateArgs& args, Stream stream);
void join(const DeviceProperties& device, const JoinArgs& args, Stream stream);
void spread(const DeviceProperties& device, const SpreadArgs& args, Stream stream);
void load_slots(Operand operand);
void load_levels();
void load_choice(const DeviceProperties& device);
void load_attention(const DeviceProperties& device, Operand operand);

}  // namespace surrogate::kernels::bsa::cuda
