// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/flare/flare_device.hpp"
#include "kernels/linear/row_product_device.hpp"
#include "kernels/norm/row_norm_device.hpp"

/// Backward pass of FLARE on a device. Points are rows (n_point, C) of float without padding, with
/// C = H D. The formulas are in gradient.hpp; they are computed in float for every operand of the
/// plan. All pointers are device memory that the caller owns. Sums have a fixed order: results are
/// bitwise identical in every launch.
namespace surrogate::kernels::flare {

/// Largest number of channels of a head.
constexpr int64_t largest_trained_head = 32;

/// Arguments of rows(i, c) = x, from fragments of the forward passes.
struct RowsArgs {
    DeviceShape shape;
    int64_t n_point = 0;
    const float* x = nullptr;  ///< fragments (n_point, width)
    float* rows = nullptr;     ///< (n_point, C)
};

/// Arguments of the conversion of the reductions of the fast mode (LatentArgs) for the backward
/// pass:
///   z = values / sum,   log_sum = maximum + log2(sum)
struct KeptLatentsArgs {
    Sizes sizes;
    const float* maxima = nullptr;  ///< (H, M)
    const float* sums = nullptr;    ///< (H, M, D + 1)
    float* z = nullptr;             ///< (H, M, D)
    float* log_sum = nullptr;       ///< (H, M)
};

/// Arguments of the latent gradients: dz before the reduction over ranks, rounded from `local`;
/// after it gamma(h, m) = <dz, z>. `lost` is raised if dz is not finite.
struct LatentGradientArgs {
    Sizes sizes;
    const double* local = nullptr;  ///< (H, M, D)
    float* dz = nullptr;            ///< (H, M, D)
    const float* z = nullptr;       ///< (H, M, D)
    float* gamma = nullptr;         ///< (H, M)
    int32_t* lost = nullptr;
};

/// Arguments of the attention of one block and some of the points. of_points (n_point, H,
/// point_rows) as in gradient.hpp: maximum, inverse, delta.
struct AttentionArgs {
    Sizes sizes;
    int64_t n_point = 0;
    const float* queries = nullptr;  ///< (H, M, D), scaled by s log2(e)
    const float* z = nullptr;        ///< (H, M, D)
    const float* k = nullptr;
    const float* v = nullptr;
    const float* dy = nullptr;
    float* y = nullptr;
    float* of_points = nullptr;
    const float* dz = nullptr;       ///< (H, M, D)
    const float* gamma = nullptr;    ///< (H, M)
    const float* log_sum = nullptr;  ///< (H, M)
    float* dk = nullptr;
    float* dv = nullptr;
    int64_t points_per_part = 0;
    float* parts = nullptr;  ///< (part, H, M, D)

    int64_t n_part() const { return (n_point + points_per_part - 1) / points_per_part; }
};

/// The backward passes of the plug-in. Each enqueues on `stream`; throws device.
struct GradientKernels {
    void (*rows)(const DeviceProperties&, const RowsArgs&, Stream) = nullptr;
    void (*kept_latents)(const DeviceProperties&, const KeptLatentsArgs&, Stream) = nullptr;
    /// Computes y, maximum and inverse from queries, k, z.
    void (*decode_points)(const DeviceProperties&, const AttentionArgs&, Stream) = nullptr;
    /// Computes delta from y and dy, then the parts of dz.
    void (*decode_sums)(const DeviceProperties&, const AttentionArgs&, Stream) = nullptr;
    void (*round_latents)(const DeviceProperties&, const LatentGradientArgs&, Stream) = nullptr;
    void (*weigh_latents)(const DeviceProperties&, const LatentGradientArgs&, Stream) = nullptr;
    /// Computes dk and dv.
    void (*mix_points)(const DeviceProperties&, const AttentionArgs&, Stream) = nullptr;
    /// Computes the parts of dq, not yet multiplied by s.
    void (*mix_sums)(const DeviceProperties&, const AttentionArgs&, Stream) = nullptr;
    void (*product)(const DeviceProperties&, const RowProductArgs&, Stream) = nullptr;
    void (*part_sums)(const DeviceProperties&, const PartSumsArgs&, Stream) = nullptr;
    void (*norm)(const DeviceProperties&, const RowNormArgs&, Stream) = nullptr;
    void (*norm_backward)(const DeviceProperties&, const RowNormArgs&, Stream) = nullptr;
    void (*norm_gradient)(const DeviceProperties&, const RowNormGradientArgs&, Stream) = nullptr;
    /// Loads the code. Call it once before the first pass, like DeviceKernels::load.
    void (*load)(const DeviceProperties&) = nullptr;
};

}  // namespace surrogate::kernels::flare
