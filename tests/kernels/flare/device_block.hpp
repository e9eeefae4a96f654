// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/flare/flare_device.hpp"
#include "kernels/mlp/mlp.hpp"
#include "tests/kernels/device/rounding.hpp"

/// One block of FLARE with formula weights, through the passes of a device and by the reference in
/// double: what tests and the device benchmark compare.
namespace surrogate::tests {

struct BlockCase {
    int64_t n_head = 2, n_latent = 3, n_dim = 4, n_point = 5;
    int n_inner_kv = 1, n_inner_ffn = 1;  ///< inner layers; -1: one affine layer
    int64_t n_hidden = 0;                 ///< of all chains; 0: C
    int64_t in_dim = 2, out_dim = 1;
    bool rms = false, qk_norm = false;
    kernels::Activation activation = kernels::Activation::gelu_tanh;
    double query_scale = 1;  ///< sharpness of the softmax
    int64_t shared_bytes = 227 * 1024;
    int n_multiprocessor = 2;
    bool reproducible = false;
    int variant = 0;        ///< of the tiling (flare_tiling.hpp)
    bool combined = false;  ///< latents by one kernel, as on one rank

    int64_t n_channel() const { return n_head * n_dim; }
};

/// Weights of a case in float, and the same for the reference in double.
struct BlockWeights {
    struct Layer {
        int64_t n_in, n_out;
        std::vector<float> weight, bias;
    };
    std::vector<Layer> in_proj, k_proj, v_proj, att_out, ffn, out_proj;
    std::vector<float> norm1_weight, norm1_bias, norm2_weight, norm2_bias, k_norm_weight,
        k_norm_bias;
    std::vector<float> queries;  ///< (H, M, D), scaled by log2(e)

    explicit BlockWeights(const BlockCase& c);
};

/// The layers as the kernels take them; their memory stays with `layers`.
std::vector<kernels::Linear<float>> linears(const std::vector<BlockWeights::Layer>& layers);

/// Inputs (n_point, in_dim) of a case, of unit scale.
std::vector<float> block_inputs(const BlockCase& c);

/// Outputs (n_point, out_dim) by the reference kernels in double. n_bit > 0: every operand of a
/// product is rounded to that many bits of fraction first, which is what a plain version with such
/// operands would do; all else stays exact.
std::vector<double> reference_block(const BlockCase& c, const BlockWeights& weights,
                                    const std::vector<float>& inputs, int n_bit = 0);

/// Source of device memory: the runtime, or the host under emulation.
struct DeviceMemory {
    void* (*allocate)(int64_t n_byte);
    void (*release)(void* memory);
    void (*copy)(void* to, const void* from, int64_t n_byte);
    void (*synchronize)();
};

struct BlockResult {
    std::vector<double> outputs;
    kernels::DeviceFindings findings;
    std::vector<float> partials;
};

/// Runs the passes in order: begin, encode, maxima, sums, latents, decode, end. inputs are columns
/// of float. If the last argument is true, the block sends NaN instead of sums (see
/// DeviceFindings).
BlockResult device_block(const BlockCase& c, const BlockWeights& weights,
                         const std::vector<float>& inputs, kernels::Operand operand,
                         const kernels::flare::DeviceKernels& kernels, const DeviceMemory& memory,
                         bool poisoned = false);

}  // namespace surrogate::tests
