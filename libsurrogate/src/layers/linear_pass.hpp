// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/linear/linear_device.hpp"

namespace surrogate::impl {

/// A pass of a linear layer over rows in tiles, written as a sentence:
///   linear_pass(layer, operand, n_tile).of(x, norm, n_channel).then(gelu).to_pieces(y, n_group)
struct LinearPass {
    kernels::LinearArgs args;

    /// Reads a stream.
    LinearPass of(const float* stream) const {
        LinearPass next = *this;
        next.args.stream = stream;
        return next;
    }
    /// Reads norm(stream), in which the first n_channel channels count.
    LinearPass of(const float* stream, const kernels::DeviceNorm& norm, int64_t n_channel) const {
        LinearPass next = of(stream);
        next.args.norm = norm;
        next.args.n_norm = static_cast<int32_t>(n_channel);
        return next;
    }
    /// Reads the first groups of n_group groups of operands.
    LinearPass of_pieces(const void* pieces, int64_t n_group) const {
        LinearPass next = *this;
        next.args.pieces = pieces;
        next.args.in_groups = n_group;
        return next;
    }
    LinearPass then(kernels::DeviceActivation activation) const {
        LinearPass next = *this;
        next.args.activation = activation;
        return next;
    }
    /// Writes a stream.
    LinearPass to(float* stream) const {
        LinearPass next = *this;
        next.args.to_stream = stream;
        return next;
    }
    LinearPass adds_to(float* stream) const {
        LinearPass next = to(stream);
        next.args.adds = true;
        return next;
    }
    /// Writes the first groups of n_group groups of operands.
    LinearPass to_pieces(void* pieces, int64_t n_group) const {
        LinearPass next = *this;
        next.args.to_pieces = pieces;
        next.args.out_groups = n_group;
        return next;
    }
};

/// Returns a pass of a layer over n_tile tiles; its input and output are still to be named.
inline LinearPass linear_pass(const kernels::DeviceLinear& layer, kernels::Operand operand,
                              int64_t n_tile) {
    LinearPass pass;
    pass.args.operand = operand;
    pass.args.n_tile = n_tile;
    pass.args.layer = layer;
    return pass;
}

}  // namespace surrogate::impl
