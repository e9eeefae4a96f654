// SPDX-License-Identifier: Apache-2.0
// Weights of a chain as operands of the device's products, made once on the host. Which element
// stands where is said in kernels/device/cuda.cuh (fragments) and kernels/device/products.cuh (what
// a lane loads at once).
#include <vector>

#include "kernels/device/operand_writer.hpp"
#include "kernels/mlp/mlp_device.hpp"

namespace surrogate::kernels {

namespace {

/// The layer on padded channels: (width, width) weights and (width) biases, zero where there is
/// nothing.
struct PaddedLayer {
    int64_t width;
    std::vector<float> weight, bias;

    float at(int64_t out, int64_t in) const {
        return weight[static_cast<size_t>(out * width + in)];
    }
};

/// Which channels a side of a layer has: those of the model, or a plain count from 0.
enum class Side { of_heads, plain };

PaddedLayer pad(const DeviceChannels& channels, const Linear<float>& layer, Side in, Side out) {
    const int64_t width = channels.width;
    PaddedLayer padded{width, std::vector<float>(static_cast<size_t>(width * width)),
                       std::vector<float>(static_cast<size_t>(width))};
    for (int64_t o = 0; o < layer.n_out; ++o) {
        const int64_t row = out == Side::plain ? o : channels.position(o);
        if (layer.bias) padded.bias[static_cast<size_t>(row)] = layer.bias[o];
        for (int64_t i = 0; i < layer.n_in; ++i) {
            const int64_t column = in == Side::plain ? i : channels.position(i);
            padded.weight[static_cast<size_t>(row * width + column)] =
                layer.weight[o * layer.n_in + i];
        }
    }
    return padded;
}

/// 16-bit: for 16 inputs and 16 outputs at a time, a lane's 16 bytes: two outputs groups of four
/// inputs 2t, 2t+1, 2t+8, 2t+9.
void pack_narrow(const PaddedLayer& layer, OperandWriter& writer) {
    for (int64_t in = 0; in < layer.width; in += 16) {
        for (int64_t out = 0; out < layer.width; out += 16) {
            for (int64_t lane = 0; lane < 32; ++lane) {
                const int64_t g = lane / 4, t = lane % 4;
                for (int64_t group = 0; group < 2; ++group) {
                    for (int64_t i : {2 * t, 2 * t + 1, 2 * t + 8, 2 * t + 9})
                        writer.put(layer.at(out + 8 * group + g, in + i));
                }
            }
        }
    }
}

/// tf32: for 8 inputs and 16 outputs, a lane's 16 bytes: two output groups of inputs 2t, 2t+1.
void pack_tf32(const PaddedLayer& layer, OperandWriter& writer) {
    for (int64_t in = 0; in < layer.width; in += 8) {
        for (int64_t out = 0; out < layer.width; out += 16) {
            for (int64_t lane = 0; lane < 32; ++lane) {
                const int64_t g = lane / 4, t = lane % 4;
                for (int64_t group = 0; group < 2; ++group) {
                    for (int64_t i : {2 * t, 2 * t + 1})
                        writer.put(layer.at(out + 8 * group + g, in + i));
                }
            }
        }
    }
}

/// fp32: for 8 inputs and 8 outputs, a lane's 16 bytes: inputs 2t, 2t+1, their leading tf32 pieces
/// and the pieces that remain.
void pack_split(const PaddedLayer& layer, OperandWriter& writer) {
    for (int64_t in = 0; in < layer.width; in += 8) {
        for (int64_t out = 0; out < layer.width; out += 8) {
            for (int64_t lane = 0; lane < 32; ++lane) {
                const int64_t g = lane / 4, t = lane % 4;
                const float first = layer.at(out + g, in + 2 * t);
                const float second = layer.at(out + g, in + 2 * t + 1);
                for (float value : {first, second}) writer.append(round_to(value, 10));
                for (float value : {first, second})
                    writer.append(round_to(value - round_to(value, 10), 10));
            }
        }
    }
}

void pack_layer(Operand operand, const DeviceChannels& channels, const Linear<float>& layer,
                Side in, Side out, void* to) {
    const PaddedLayer padded = pad(channels, layer, in, out);
    OperandWriter writer(operand, to);
    if (operand == Operand::fp32) {
        pack_split(padded, writer);
    } else if (operand == Operand::tf32) {
        pack_tf32(padded, writer);
    } else {
        pack_narrow(padded, writer);
    }
    for (float bias : padded.bias) writer.append(bias);
}

}  // namespace

DeviceMlp pack_chain(Operand operand, const DeviceChannels& channels, const ResidualMlp<float>& mlp,
                     bool reads_port, bool writes_port, void* to) {
    const auto side = [&](int64_t n, bool is_port) {
        return !is_port && n == channels.n_channel ? Side::of_heads : Side::plain;
    };
    DeviceMlp packed{nullptr, static_cast<int32_t>(mlp.layers.size()), 0, mlp.activation};
    for (size_t l = 0; l < mlp.layers.size(); ++l) {
        const Linear<float>& layer = mlp.layers[l];
        const bool is_first = l == 0, is_last = l + 1 == mlp.layers.size();
        const bool adds = (!is_first || mlp.residual_in) && (!is_last || mlp.residual_out);
        if (adds && layer.n_in == layer.n_out) packed.residual_mask |= uint32_t{1} << l;
        if (!to) continue;
        pack_layer(operand, channels, layer, side(layer.n_in, reads_port && is_first),
                   side(layer.n_out, writes_port && is_last),
                   static_cast<unsigned char*>(to) +
                       static_cast<int64_t>(l) * layer_bytes(operand, channels.width));
    }
    return packed;
}

}  // namespace surrogate::kernels
