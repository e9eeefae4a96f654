// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/norm/norm.hpp"

namespace surrogate::kernels {

/// A normalization (norm.hpp) for a device: weight, bias (width) in device memory, zero in channels
/// that are padding. weight null: no norm at all; bias null: no bias.
struct DeviceNorm {
    NormKind kind = NormKind::layer;
    float eps = 1e-5F;
    const float* weight = nullptr;
    const float* bias = nullptr;
};

}  // namespace surrogate::kernels
