// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/model/sphere/device_attention.hpp"

namespace surrogate::impl::sphere {

/// Attention and feed-forward of one repetition; all pointers are device memory.
struct DeviceRepetition {
    kernels::DeviceNorm attention_norm, mix_norm;
    DeviceAttention attention;
    kernels::DeviceLinear mlp_in, mlp_out;
    const float* mix = nullptr;  ///< (n_channel, n_basis)
};

struct DeviceLevel {
    kernels::DeviceLinear merge;  ///< behind its geometry
    kernels::DeviceNorm merge_norm, norm;
    std::vector<DeviceRepetition> repetitions;
    kernels::DeviceLinear mlp;
    kernels::DeviceLinear
        head;  ///< its columns, before the geometry of upsampling: n_out channels,
               ///< or with a convolution n_out times the basis functions
};

/// The weights of a SegFormer on a device; plans share them. `device`, `config` and `weights` must
/// outlive it.
class SegformerWeights {
public:
    /// As PackedWeights.
    SegformerWeights(DeviceContext& context, kernels::Operand operand, const Segformer& config,
                     const Weights<float>& weights);

    kernels::Operand operand() const { return packed_.operand(); }
    const DeviceLevel& level(size_t i) const { return levels_[i]; }
    const float* bias() const { return bias_; }  ///< (n_out)
    int64_t bytes() const { return packed_.bytes(); }

    /// Channels that level i gives to upsampling.
    static int64_t n_expanded(const Segformer& config, size_t i);

private:
    DeviceLevel lay_out(DeviceImage& image, size_t i) const;
    DeviceRepetition lay_out_repetition(DeviceImage& image, size_t i, int64_t j) const;
    kernels::DeviceLinear head(DeviceImage& image, size_t i) const;

    const Segformer& config_;
    const Weights<float>& weights_;
    std::vector<DeviceLevel> levels_;
    const float* bias_ = nullptr;
    PackedWeights packed_;
};

}  // namespace surrogate::impl::sphere
