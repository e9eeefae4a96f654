// SPDX-License-Identifier: Apache-2.0
// Operands of the device's products, made once on the host. Which element stands where is said in
// kernels/device/cuda.cuh (fragments) and kernels/device/products.cuh (what a lane loads at once).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/flare/flare_device.hpp"
#include "kernels/flare/flare_tiling.hpp"

namespace surrogate::kernels::flare {

namespace {

/// Nearest number with `n_bit` explicit bits of fraction, ties to even, as a float. Finite input.
float round_to(float value, int n_bit) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const int cut = 23 - n_bit;
    const uint32_t half = (1U << (cut - 1)) - 1 + ((bits >> cut) & 1U);
    return std::bit_cast<float>((bits + half) & ~((1U << cut) - 1));
}

uint16_t to_bf16(float value) {
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(round_to(value, 7)) >> 16);
}

/// Throws not_supported beyond fp16's range. Numbers below 2^-24 become multiples of it.
uint16_t to_f16(float value) {
    const float size = std::abs(value);
    const auto sign = static_cast<uint16_t>((std::bit_cast<uint32_t>(value) >> 16) & 0x8000U);
    if (!(size < 65520.0F)) {
        throw Error(Status::not_supported,
                    "a weight of the model is " + std::to_string(value) +
                        ", beyond the range of precision 'fp16' (65504); 'bf16' or 'tf32' hold it");
    }
    if (size < 0x1p-14F) {  // subnormal: adding 1/2 rounds to multiples of 2^-24
        const float shifted = size + 0.5F;
        return static_cast<uint16_t>(
            sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5F)));
    }
    const auto bits = std::bit_cast<uint32_t>(round_to(size, 10));
    return static_cast<uint16_t>(sign | ((bits >> 13) - ((127U - 15U) << 10)));
}

/// One operand after the other to memory.
class Writer {
public:
    Writer(Operand operand, void* to) : operand_(operand), to_(static_cast<unsigned char*>(to)) {}

    void put(float value) {
        switch (operand_) {
            case Operand::fp32: append(value); break;
            case Operand::tf32: append(round_to(value, 10)); break;
            case Operand::fp16: append(to_f16(value)); break;
            case Operand::bf16: append(to_bf16(value)); break;
        }
    }
    template <class T>
    void append(T value) {
        std::memcpy(to_, &value, sizeof value);
        to_ += sizeof value;
    }

private:
    Operand operand_;
    unsigned char* to_;
};

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
enum class Channels { of_heads, plain };

PaddedLayer pad(const DeviceShape& shape, const Linear<float>& layer, Channels in, Channels out) {
    const int64_t width = shape.width;
    PaddedLayer padded{width, std::vector<float>(static_cast<size_t>(width * width)),
                       std::vector<float>(static_cast<size_t>(width))};
    for (int64_t o = 0; o < layer.n_out; ++o) {
        const int64_t row = out == Channels::plain ? o : shape.position(o);
        if (layer.bias) padded.bias[static_cast<size_t>(row)] = layer.bias[o];
        for (int64_t i = 0; i < layer.n_in; ++i) {
            const int64_t column = in == Channels::plain ? i : shape.position(i);
            padded.weight[static_cast<size_t>(row * width + column)] =
                layer.weight[o * layer.n_in + i];
        }
    }
    return padded;
}

/// 16-bit: for 16 inputs and 16 outputs at a time, a lane's 16 bytes: two outputs groups of four
/// inputs 2t, 2t+1, 2t+8, 2t+9.
void pack_narrow(const PaddedLayer& layer, Writer& writer) {
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
void pack_tf32(const PaddedLayer& layer, Writer& writer) {
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
void pack_split(const PaddedLayer& layer, Writer& writer) {
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

void pack_layer(Operand operand, const DeviceShape& shape, const Linear<float>& layer, Channels in,
                Channels out, void* to) {
    const PaddedLayer padded = pad(shape, layer, in, out);
    Writer writer(operand, to);
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

int64_t layer_bytes(Operand operand, const DeviceShape& shape) {
    return layer_operand_bytes(operand, shape.width) +
           shape.width * static_cast<int64_t>(sizeof(float));
}

DeviceMlp pack_chain(Operand operand, const DeviceShape& shape, const ResidualMlp<float>& mlp,
                     bool reads_port, bool writes_port, void* to) {
    const auto channels = [&](int64_t n, bool is_port) {
        return !is_port && n == shape.sizes.n_channel() ? Channels::of_heads : Channels::plain;
    };
    DeviceMlp packed{nullptr, static_cast<int32_t>(mlp.layers.size()), 0, mlp.activation};
    for (size_t l = 0; l < mlp.layers.size(); ++l) {
        const Linear<float>& layer = mlp.layers[l];
        const bool is_first = l == 0, is_last = l + 1 == mlp.layers.size();
        const bool adds = (!is_first || mlp.residual_in) && (!is_last || mlp.residual_out);
        if (adds && layer.n_in == layer.n_out) packed.residual_mask |= uint32_t{1} << l;
        if (!to) continue;
        pack_layer(operand, shape, layer, channels(layer.n_in, reads_port && is_first),
                   channels(layer.n_out, writes_port && is_last),
                   static_cast<unsigned char*>(to) +
                       static_cast<int64_t>(l) * layer_bytes(operand, shape));
    }
    return packed;
}

void pack_channels(const DeviceShape& shape, const float* from, bool is_per_head, float* to) {
    std::fill_n(to, shape.width, 0.0F);
    if (!from) return;
    for (int64_t c = 0; c < shape.sizes.n_channel(); ++c)
        to[shape.position(c)] = from[is_per_head ? c % shape.sizes.n_dim : c];
}

int64_t queries_bytes(Operand operand, const DeviceShape& shape) {
    return shape.all_latent_tiles() * shape.head_groups() * latent_group_bytes(operand);
}

int64_t latent_bytes(Operand operand, const DeviceShape& shape) {
    return queries_bytes(operand, shape);
}

void pack_queries(Operand operand, const DeviceShape& shape, const float* by_latent, void* to) {
    const auto& [n_head, n_latent, n_dim] = shape.sizes;
    Writer writer(operand, to);
    const auto query = [&](int64_t head, int64_t latent, int64_t channel) {
        // Channels are counted from the head's first group of 8, which half-heads share.
        const int64_t d = channel - head * shape.n_dim_padded % 8;
        const bool exists = latent < n_latent && d >= 0 && d < n_dim;
        return exists ? by_latent[(head * n_latent + latent) * n_dim + d] : 0.0F;
    };
    for (int64_t head = 0; head < n_head; ++head) {
        for (int64_t group = 0; group < shape.head_groups(); ++group) {
            for (int64_t tile = 0; tile < shape.latent_tiles(); ++tile) {
                for (int64_t lane = 0; lane < 32; ++lane) {
                    for (int64_t slot = 0; slot < 4; ++slot) {
                        const int64_t latent = 16 * tile + lane / 4 + slot / 2 * 8;
                        writer.put(query(head, latent, 8 * group + lane % 4 * 2 + slot % 2));
                    }
                }
            }
        }
    }
}

}  // namespace surrogate::kernels::flare
