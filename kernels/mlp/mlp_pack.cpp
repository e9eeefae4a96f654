// SPDX-License-Identifier: Apache-2.0
// Weights of a chain, layer after layer.
#include "kernels/linear/pack_matrix.hpp"
#include "kernels/mlp/mlp_device.hpp"

namespace surrogate::kernels {

namespace {

void pack_layer(Operand operand, const DeviceChannels& in, const DeviceChannels& out,
                const Linear<float>& layer, void* to) {
    const PaddedLayer padded = pad(in, out, out.width, layer);
    OperandWriter writer(operand, to);
    pack_matrix(padded, 0, padded.n_out, writer);
    for (float bias : padded.bias) writer.append(bias);
}

}  // namespace

DeviceMlp pack_chain(Operand operand, const DeviceChannels& channels, const ResidualMlp<float>& mlp,
                     bool reads_port, bool writes_port, void* to) {
    const DeviceChannels plain{channels.width, channels.width, channels.width, channels.width};
    const auto side = [&](int64_t n, bool is_port) {
        return !is_port && n == channels.n_channel ? channels : plain;
    };
    DeviceMlp packed{nullptr, static_cast<int32_t>(mlp.layers.size()), 0, mlp.activation};
    for (size_t l = 0; l < mlp.layers.size(); ++l) {
        const Linear<float>& layer = mlp.layers[l];
        const bool is_first = l == 0, is_last = l + 1 == mlp.layers.size();
        const bool adds = (!is_first || mlp.residual_in) && (!is_last || mlp.residual_out);
        if (adds && layer.n_in == layer.n_out) packed.residual_mask |= uint32_t{1} << l;
        if (!to) continue;
        pack_layer(operand, side(layer.n_in, reads_port && is_first),
                   side(layer.n_out, writes_port && is_last), layer,
                   static_cast<unsigned char*>(to) +
                       static_cast<int64_t>(l) * layer_bytes(operand, channels.width));
    }
    return packed;
}

}  // namespace surrogate::kernels
