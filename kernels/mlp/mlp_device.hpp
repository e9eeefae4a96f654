// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/activation/activation.hpp"

namespace surrogate::kernels {

/// A ResidualMLP (mlp.hpp) for a device, all layers `width` x `width` (flare_device.hpp).
///   layers         n_layer operands of pack_chain(), one behind the other; device memory
///   residual_mask  bit l: what layer l read is added to what it gives
/// After each layer but the last comes the activation. At most 32 layers.
struct DeviceMlp {
    const void* layers = nullptr;
    int32_t n_layer = 0;
    uint32_t residual_mask = 0;
    Activation activation = Activation::gelu_tanh;  ///< gelu_tanh or silu
};

}  // namespace surrogate::kernels
