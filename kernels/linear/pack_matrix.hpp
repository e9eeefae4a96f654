// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/device/channels.hpp"
#include "kernels/device/operand_writer.hpp"
#include "kernels/linear/linear.hpp"

namespace surrogate::kernels {

/// A layer on padded channels: weight (n_out, n_in) and bias (n_out), zero in the padding.
struct PaddedLayer {
    int64_t n_in = 0, n_out = 0;
    std::vector<float> weight, bias;

    float at(int64_t out, int64_t in) const { return weight[static_cast<size_t>(out * n_in + in)]; }
};

/// Returns the padded layer. in, out: layout of the layer's channels, among `width` each; n_out of
/// the result may be larger.
PaddedLayer pad(const DeviceChannels& in, const DeviceChannels& out, int64_t n_out,
                const Linear<float>& layer);

/// Packs the weights of outputs `first` .. first + count - 1 as a step of a layer reads them
/// (products.cuh), in the order of steps: n_in and count are multiples of 16.
void pack_matrix(const PaddedLayer& layer, int64_t first, int64_t count, OperandWriter& writer);

}  // namespace surrogate::kernels
