// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/linear_device.hpp"

#include "kernels/linear/pack_matrix.hpp"

namespace surrogate::kernels {

void pack_linear(Operand operand, const DeviceChannels& in, const DeviceChannels& out,
                 const Linear<float>& layer, void* to) {
    const int64_t n_block = linear_blocks(out.width);
    const PaddedLayer padded = pad(in, out, n_block * linear_block, layer);
    OperandWriter writer(operand, to);
    for (int64_t block = 0; block < n_block; ++block)
        pack_matrix(padded, block * linear_block, linear_block, writer);
    for (const float bias : padded.bias) writer.append(bias);
}

}  // namespace surrogate::kernels
