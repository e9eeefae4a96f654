// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/device.hpp"
#include "kernels/norm/norm.hpp"

/// Normalization (norm.hpp) of points that are rows of a matrix, for training on a device. Arrays
/// are float (n_row, n_channel) without padding, in device memory that the caller owns. Sums have a
/// fixed order: results are bitwise identical in every launch.
namespace surrogate::kernels {

/// Arguments of y = norm(x). If the heads of a point are normalized one by one, each is a row.
struct RowNormArgs {
    NormKind kind = NormKind::layer;
    float eps = 1e-5F;
    const float* weight = nullptr;  ///< (n_channel)
    const float* bias = nullptr;    ///< (n_channel) or null
    int64_t n_row = 0, n_channel = 0;
    const float* x = nullptr;
    float* y = nullptr;  ///< may be x; unused in the backward pass
    // Backward pass: dx = J^T dy [+ residual]; dx may be the residual.
    const float* dy = nullptr;
    const float* residual = nullptr;
    float* dx = nullptr;
    float* moments = nullptr;  ///< (n_row, 2) written: mean, 1 / sqrt(var + eps)
};

/// Arguments of the parameter gradients. For each part of `rows_per_part` rows, with h = (x - mean)
/// r from `moments`:
///   parts(p, 0, c) = sum over rows of dy h,   parts(p, 1, c) = sum over rows of dy
struct RowNormGradientArgs {
    int64_t n_row = 0, n_channel = 0, rows_per_part = 0;
    const float *x = nullptr, *dy = nullptr, *moments = nullptr;
    float* parts = nullptr;  ///< (part, 2, n_channel)

    int64_t n_part() const { return (n_row + rows_per_part - 1) / rows_per_part; }
};

namespace cuda {
// Functions for the tables of families: enqueued on the thread's current device; they throw device.
void row_norm(const DeviceProperties& device, const RowNormArgs& args, Stream stream);
void row_norm_backward(const DeviceProperties& device, const RowNormArgs& args, Stream stream);
void row_norm_gradient(const DeviceProperties& device, const RowNormGradientArgs& args,
                       Stream stream);
/// Loads the code onto the device.
void load_row_norm(const DeviceProperties& device);
}  // namespace cuda

}  // namespace surrogate::kernels
