// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/channels.hpp"
#include "kernels/device/operand.hpp"
#include "kernels/linear/linear.hpp"
#include "kernels/norm/norm_device.hpp"

/// Linear layers of any width on a device, for rows in tiles of 16 (fragments.hpp):
///   stream     float (n_tile, width / 8, 32, 4), fragment_index(row, channel, width)
///   operands   (n_tile, n_group, 32) pieces of 16 rows x 8 channels (products.cuh)
/// Widths are multiples of 16. Padded channels of inputs are finite; padded channels of outputs
/// become zero plus their previous value. The result of a row depends on that row only, and is
/// bitwise identical at every row index. All pointers are device memory.
namespace surrogate::kernels {

/// A layer for a device: weights in blocks of linear_block outputs, each in the order of its steps,
/// then n_out biases; both widths padded.
struct DeviceLinear {
    const void* layer = nullptr;  ///< pack_linear()
    int32_t n_in = 0, n_out = 0;
};

/// Outputs that a warp computes at once; the weights of the last ones are padded to this number.
constexpr int64_t linear_block = 64;

constexpr int64_t linear_blocks(int64_t n_out) {
    return (n_out + linear_block - 1) / linear_block;
}
/// Returns the bytes of one block's weights. fp32: two pieces of four bytes each.
constexpr int64_t linear_block_bytes(Operand operand, int64_t n_in) {
    return n_in * linear_block * (operand == Operand::fp32 ? 8 : operand_bytes(operand));
}
constexpr int64_t linear_bytes(Operand operand, int64_t n_in, int64_t n_out) {
    const int64_t n_block = linear_blocks(n_out);
    return n_block * (linear_block_bytes(operand, n_in) + linear_block * 4);
}

/// Packs a layer on the host, linear_bytes(operand, in.width, out.width). `in` and `out` give the
/// layout of the channels that it reads and writes. Throws not_supported for a weight beyond fp16's
/// range.
void pack_linear(Operand operand, const DeviceChannels& in, const DeviceChannels& out,
                 const Linear<float>& layer, void* to);

/// Activation of a layer on a device. gelu: with the error function. swiglu: outputs in pairs of 8
/// channels, (a, b) -> silu(a) b; the result has half as many channels.
enum class DeviceActivation { none, relu, gelu, swiglu };

/// Arguments of y = activation(W norm(x) + b).
struct LinearArgs {
    Operand operand = Operand::fp32;
    int64_t n_tile = 0;
    const float* stream = nullptr;  ///< x as a stream of width n_in; or
    const void* pieces = nullptr;   ///< as operands, the first n_in / 8 of in_groups groups
    int64_t in_groups = 0;
    DeviceNorm norm;     ///< of a stream; weight null: no norm; weight, bias (n_in)
    int32_t n_norm = 0;  ///< number of channels in the norm, from channel 0
    DeviceLinear layer;
    DeviceActivation activation = DeviceActivation::none;
    float* to_stream = nullptr;  ///< y as a stream of width n_out; or
    bool adds = false;           ///< stream += y
    void* to_pieces = nullptr;   ///< as operands, the first n_out / 8 of out_groups groups
    int64_t out_groups = 0;
};

}  // namespace surrogate::kernels
