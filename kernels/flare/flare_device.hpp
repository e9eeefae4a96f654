// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/channels.hpp"
#include "kernels/device/columns.hpp"
#include "kernels/device/device.hpp"
#include "kernels/device/device_table.hpp"
#include "kernels/device/fragments.hpp"
#include "kernels/device/operand.hpp"
#include "kernels/flare/flare.hpp"
#include "kernels/mlp/mlp_device.hpp"
#include "kernels/norm/norm_device.hpp"

/// FLARE on a device: fused passes over the points, each of which loads a point once, and the small
/// kernels between them. The formulas are in flare.hpp, mlp.hpp and norm.hpp; this file gives
/// shapes and layouts. Derivation, resources and the issue-slot count are in flare_cuda.md.
///
/// All pointers are device memory that the caller owns. Kernels do not allocate and are enqueued.
namespace surrogate::kernels::flare {

/// A model's sizes, padded for the device (channels.hpp). All layers of all chains are width x
/// width.
struct DeviceShape {
    Sizes sizes;        ///< H, M, D of the model
    int64_t width = 0;  ///< 64 or 128
    int64_t n_dim_padded = 0;

    /// Returns the smallest shape for heads `sizes` and chains up to `widest` channels (hidden
    /// layers, inputs, outputs). Throws not_supported, with the limit, beyond 128.
    static DeviceShape of(const Sizes& sizes, int64_t widest);

    constexpr DeviceChannels channels() const {
        return {sizes.n_channel(), sizes.n_dim, n_dim_padded, width};
    }
    /// Returns the number of tiles of 16 latents, per head and in total.
    constexpr int64_t latent_tiles() const { return (sizes.n_latent + 15) / 16; }
    constexpr int64_t all_latent_tiles() const { return sizes.n_head * latent_tiles(); }
    /// Returns the number of groups of 8 channels that hold a head.
    constexpr int64_t head_groups() const { return n_dim_padded < 8 ? 1 : n_dim_padded / 8; }
};

/// Partition of the encode pass into blocks and launches, for one device and model.
struct EncodeGeometry {
    int64_t n_block = 0;         ///< blocks, and partials of the fast mode
    int64_t n_pass = 1;          ///< launches; each processes some latents and recomputes k and v
    int64_t tiles_per_pass = 0;  ///< latent tiles of all heads per launch
    int64_t shared_bytes = 0;
    /// True: weights stay in shared memory; false: they are loaded layer by layer.
    bool resident = false;
    int variant = 0;   ///< of the tiling (flare_tiling.hpp)
    int n_thread = 0;  ///< per block
};

/// Returns the geometry. n_layer: number of layers of the k and v chains together. n_point: points
/// of this rank. Throws not_supported if not even one latent tile fits.
EncodeGeometry encode_geometry(const DeviceProperties& device, Operand operand,
                               const DeviceShape& shape, int64_t n_layer, int64_t n_point,
                               bool reproducible, int variant = 0);

/// Arguments of x = in_proj((columns - mean) / std).
struct BeginArgs {
    DeviceShape shape;
    Operand operand = Operand::fp32;
    int64_t n_point = 0;
    const DeviceColumn* columns = nullptr;  ///< (n_column), device memory
    int64_t n_column = 0;
    DeviceMlp in_proj;
    float* x = nullptr;  ///< fragments (n_point, width)
    DeviceFindings* findings = nullptr;
    DeviceOutside* outside = nullptr;  ///< (n_column); may be null if no column has a range
};

/// Arguments of k, v = projections of norm(x);  k = k_norm(k);  partials of the softmax over
/// points.
struct EncodeArgs {
    DeviceShape shape;
    Operand operand = Operand::fp32;
    EncodeGeometry geometry;
    int64_t n_point = 0;
    const float* x = nullptr;
    DeviceNorm norm, k_norm;
    DeviceMlp k_proj, v_proj;
    const void* queries = nullptr;  ///< pack_queries()
    void* k = nullptr;              ///< fragments (n_point, width) of operands
    /// (n_partial, H, M, D + 2): maximum, sum, values relative to the maximum; without points:
    /// lowest_score(), 0. n_partial: geometry.n_block, or ceil(n_point / chunk_points) with v_max.
    float* partials = nullptr;
    float* v_max = nullptr;  ///< null: fast mode. (H), cleared by the caller: raised to max |v|
};

/// Arguments of the steps from partials to latents. Between the steps the caller reduces over
/// ranks, in place:
///   maxima: max over partials and ranks        sums: sum of 2^(maximum - maxima) * (sum, values)
/// Fast: maxima (H * M), sums (H, M, D + 1) float.
/// Reproducible: maxima (H * M + H + 1), with max |v| per head and a flag after the maxima; sums
/// (limbs, H, M, D + 1) int64 on the grid of libsurrogate's ExactGrid for n_chunk_global terms.
struct LatentArgs {
    DeviceShape shape;
    Operand operand = Operand::fp32;
    int64_t n_partial = 0;
    const float* partials = nullptr;
    const float* v_max = nullptr;  ///< null: fast mode
    int64_t n_chunk_global = 0;    ///< reproducible: over all ranks
    float* maxima = nullptr;
    void* sums = nullptr;
    void* z = nullptr;  ///< latents as operands, latent_bytes()
    DeviceFindings* findings = nullptr;
};

/// Arguments of x += out_proj(decode(k, z));  x += ffn(norm(x)).
struct DecodeArgs {
    DeviceShape shape;
    Operand operand = Operand::fp32;
    int64_t n_point = 0;
    const void* queries = nullptr;
    const void* k = nullptr;
    const void* z = nullptr;
    DeviceMlp out_proj;  ///< one layer
    DeviceNorm norm;
    DeviceMlp ffn;
    float* x = nullptr;
    int variant = 0;  ///< as in EncodeGeometry
};

/// Arguments of columns = mlp(norm(x)) * std + mean; NaN if the findings report that sums were not
/// finite.
struct EndArgs {
    DeviceShape shape;
    Operand operand = Operand::fp32;
    int64_t n_point = 0;
    const float* x = nullptr;
    DeviceNorm norm;
    DeviceMlp out_proj;
    const DeviceColumn* columns = nullptr;
    int64_t n_column = 0;
    DeviceFindings* findings = nullptr;
};

struct GradientKernels;  // flare_gradient_device.hpp

/// The passes of the plug-in. Each enqueues on `stream`; throws device, not_supported. load() loads
/// the code for an operand and a width onto the device. Call it once before the first pass of a
/// plan there, and not while a graph is recorded, which a first launch may disturb.
struct DeviceKernels {
    void (*begin)(const DeviceProperties&, const BeginArgs&, Stream) = nullptr;
    void (*encode)(const DeviceProperties&, const EncodeArgs&, Stream) = nullptr;
    void (*maxima)(const DeviceProperties&, const LatentArgs&, Stream) = nullptr;
    void (*sums)(const DeviceProperties&, const LatentArgs&, Stream) = nullptr;
    void (*latents)(const DeviceProperties&, const LatentArgs&, Stream) = nullptr;
    /// Computes maxima, sums and latents at once on one rank; bitwise identical to the separate
    /// steps.
    void (*combine)(const DeviceProperties&, const LatentArgs&, Stream) = nullptr;
    void (*decode)(const DeviceProperties&, const DecodeArgs&, Stream) = nullptr;
    void (*end)(const DeviceProperties&, const EndArgs&, Stream) = nullptr;
    void (*load)(const DeviceProperties&, Operand, int64_t width) = nullptr;
    const GradientKernels* gradients = nullptr;  ///< backward pass
};

namespace cuda {
/// Returns the passes, launched on the thread's current device.
const DeviceKernels& kernels();
/// Returns the passes for a plug-in; each makes its device current for the launch.
DeviceTable device_table();
}  // namespace cuda

// ---- operands, packed on the host --------------------------------------------------------------

/// Returns the bytes of queries (H, M, D), scaled by s * log2(e).
int64_t queries_bytes(Operand operand, const DeviceShape& shape);
void pack_queries(Operand operand, const DeviceShape& shape, const float* by_latent, void* to);

int64_t latent_bytes(Operand operand, const DeviceShape& shape);

}  // namespace surrogate::kernels::flare
