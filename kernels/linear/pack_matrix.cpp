// SPDX-License-Identifier: Apache-2.0
// Weights as operands of the device's products, packed once on the host. kernels/device/cuda.cuh
// (fragments) and kernels/device/products.cuh (loads of a lane) define the layouts.
#include "kernels/linear/pack_matrix.hpp"

namespace surrogate::kernels {

namespace {

/// Packs 16-bit operands: for 16 inputs and 16 outputs at a time, a lane's 16 bytes are two output
/// groups of four inputs 2t, 2t+1, 2t+8, 2t+9.
void pack_narrow(const PaddedLayer& layer, int64_t first, int64_t end, OperandWriter& writer) {
    for (int64_t in = 0; in < layer.n_in; in += 16) {
        for (int64_t out = first; out < end; out += 16) {
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

/// Packs tf32 operands: for 8 inputs and 16 outputs, a lane's 16 bytes are two output groups of
/// inputs 2t, 2t+1.
void pack_tf32(const PaddedLayer& layer, int64_t first, int64_t end, OperandWriter& writer) {
    for (int64_t in = 0; in < layer.n_in; in += 8) {
        for (int64_t out = first; out < end; out += 16) {
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

/// Packs fp32 operands: for 8 inputs and 8 outputs, a lane's 16 bytes are inputs 2t, 2t+1, their
/// leading tf32 pieces and the remainders.
void pack_split(const PaddedLayer& layer, int64_t first, int64_t end, OperandWriter& writer) {
    for (int64_t in = 0; in < layer.n_in; in += 8) {
        for (int64_t out = first; out < end; out += 8) {
            for (int64_t lane = 0; lane < 32; ++lane) {
                const int64_t g = lane / 4, t = lane % 4;
                const float even = layer.at(out + g, in + 2 * t);
                const float odd = layer.at(out + g, in + 2 * t + 1);
                for (float value : {even, odd}) writer.append(round_to(value, 10));
                for (float value : {even, odd})
                    writer.append(round_to(value - round_to(value, 10), 10));
            }
        }
    }
}

}  // namespace

PaddedLayer pad(const DeviceChannels& in, const DeviceChannels& out, int64_t n_out,
                const Linear<float>& layer) {
    PaddedLayer padded{in.width, n_out, std::vector<float>(static_cast<size_t>(n_out * in.width)),
                       std::vector<float>(static_cast<size_t>(n_out))};
    for (int64_t o = 0; o < layer.n_out; ++o) {
        const int64_t row = out.position(o);
        if (layer.bias) padded.bias[static_cast<size_t>(row)] = layer.bias[o];
        for (int64_t i = 0; i < layer.n_in; ++i)
            padded.weight[static_cast<size_t>(row * in.width + in.position(i))] =
                layer.weight[o * layer.n_in + i];
    }
    return padded;
}

void pack_matrix(const PaddedLayer& layer, int64_t first, int64_t count, OperandWriter& writer) {
    switch (writer.operand()) {
        case Operand::fp32: return pack_split(layer, first, first + count, writer);
        case Operand::tf32: return pack_tf32(layer, first, first + count, writer);
        case Operand::fp16:
        case Operand::bf16: return pack_narrow(layer, first, first + count, writer);
    }
}

}  // namespace surrogate::kernels
