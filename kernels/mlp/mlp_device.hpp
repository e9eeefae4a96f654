// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/channels.hpp"
#include "kernels/device/operand.hpp"
#include "kernels/mlp/mlp.hpp"

namespace surrogate::kernels {

/// A ResidualMLP (mlp.hpp) for a device, all layers `width` x `width`.
///   layers         n_layer consecutive operands of pack_chain(); device memory
///   residual_mask  bit l: the input of layer l is added to its result
/// The activation follows each layer except the last. At most 32 layers.
struct DeviceMlp {
    const void* layers = nullptr;
    int32_t n_layer = 0;
    uint32_t residual_mask = 0;
    Activation activation = Activation::gelu_tanh;  ///< gelu_tanh or silu
};

/// Returns the bytes of the weights of one layer as operands. fp32: two pieces of four bytes each.
constexpr int64_t layer_operand_bytes(Operand operand, int64_t width) {
    return width * width * (operand == Operand::fp32 ? 8 : operand_bytes(operand));
}
/// Returns the bytes of one layer: weights as operands of products, then `width` biases in float.
constexpr int64_t layer_bytes(Operand operand, int64_t width) {
    return layer_operand_bytes(operand, width) + width * static_cast<int64_t>(sizeof(float));
}
/// Weights are copied to shared memory in slices: a layer, or less if a layer is large.
constexpr int64_t largest_slice = 32 * 1024;
constexpr int64_t slice_bytes(Operand operand, int64_t width) {
    const int64_t layer = layer_operand_bytes(operand, width);
    return layer < largest_slice ? layer : largest_slice;
}

/// Weights of a pass in shared memory: all of n_layer if they fit in `room` bytes, else two slices.
struct WeightRoom {
    int64_t bytes;
    bool resident;
    WeightRoom(Operand operand, int64_t width, int64_t n_layer, int64_t room)
        : bytes(n_layer * layer_operand_bytes(operand, width)), resident(bytes <= room) {
        if (!resident) bytes = 2 * slice_bytes(operand, width);
    }
};

/// Packs the layers of a chain to `to` (layer_bytes() each; null: nothing is written) and returns
/// the chain's description for the device; the caller sets `layers` of the result. A layer reads
/// and writes the model's channels (head by head, padded) where its width equals their number, else
/// it counts from 0.
///   reads_port, writes_port  the chain's ends are inputs or outputs of the network: they are
///   counted
///                            from 0 for every width
/// Throws not_supported if a weight is beyond the range of the operand.
DeviceMlp pack_chain(Operand operand, const DeviceChannels& channels, const ResidualMlp<float>& mlp,
                     bool reads_port, bool writes_port, void* to);

}  // namespace surrogate::kernels
