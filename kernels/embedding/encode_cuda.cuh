// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/cuda.cuh"

namespace surrogate::kernels::cuda {

/// Computes the features of one point from its n position(s) and passes them to put(c, value), c =
/// 0 .. n_feature - 1:
///   bias null   cos, then sin of W p, W (n_feature / 2, n)
///   otherwise   W p + b, W (n_feature, n)
/// Sums are fused, in the order of positions.
template <class Put>
__device__ inline void encode(const float* weight, const float* bias, int64_t n_feature,
                              const float* position, int n, const Put& put) {
    const auto product = [&](int64_t row, float sum) {
        for (int i = 0; i < n; ++i) sum = fmaf(weight[row * n + i], position[i], sum);
        return sum;
    };
    if (bias) {
        for (int64_t c = 0; c < n_feature; ++c) put(c, product(c, bias[c]));
        return;
    }
    const int64_t half = n_feature / 2;
    for (int64_t c = 0; c < half; ++c) {
        const float angle = product(c, 0.0F);
        put(c, cosf(angle));
        put(half + c, sinf(angle));
    }
}

}  // namespace surrogate::kernels::cuda
