// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/norm/norm.hpp"

namespace surrogate::kernels {

/// A normalisation (norm.hpp) for a device: weight, bias (width) in device memory, zero in channels
/// that do not count. weight null: no norm at all; bias null: none.
struct DeviceNorm {
    NormKind kind = NormKind::layer;
    float eps = 1e-5F;
    const float* weight = nullptr;
    const float* bias = nullptr;
};

}  // namespace surrogate::kernels
