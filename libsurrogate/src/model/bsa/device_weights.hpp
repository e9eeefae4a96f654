// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/layers/device_image.hpp"
#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"

namespace surrogate::impl::bsa {

/// Channel layout of a model on a device: widths are multiples of 16, heads multiples of 8.
struct DeviceWidths {
    kernels::DeviceChannels features, nodes, qkv, heads, gates, folded, coarse_hidden, coarse,
        hidden, outputs;

    explicit DeviceWidths(const Config& config);
    int64_t head_groups() const { return heads.n_dim_padded / 8; }
};

/// Network that computes one coarse vector of a block; without layers: means.
struct DeviceCoarse {
    kernels::DeviceLinear in, out;

    bool is_mean() const { return in.layer == nullptr; }
};

/// Weights of one layer; all pointers are device memory.
struct DeviceLayer {
    kernels::DeviceNorm norm1, norm2;
    const float* position = nullptr;       ///< (nodes.width, d); null: no position term
    const float* position_bias = nullptr;  ///< (nodes.width)
    const float* sigma = nullptr;          ///< (H), times log2(e)
    kernels::DeviceLinear qkv, gates, out, mlp_in, mlp_out;
    const float* static_gates = nullptr;  ///< (3H) before the sigmoid
    DeviceCoarse q_coarse, k_coarse, v_coarse;
};

/// All weights of the network; pointers are device memory.
struct DeviceLayers {
    const float* encoding = nullptr;       ///< position encoding: (c_in / 2, d) or (c_in, d)
    const float* encoding_bias = nullptr;  ///< linear encoding (c_in)
    kernels::DeviceLinear embedding;
    std::vector<DeviceLayer> layers;
    kernels::DeviceLinear head_in, head_out;
};

/// Weights of a model of Ball Sparse Attention in device memory; plans share them. `device`,
/// `config` and `layers` must outlive this object.
class DeviceWeights {
public:
    /// Packs the weights and copies them to the device, like PackedWeights. Local.
    DeviceWeights(DeviceContext& context, kernels::Operand operand, const Config& config,
                  const Layers<float>& layers);

    kernels::Operand operand() const { return packed_.operand(); }
    const DeviceWidths& widths() const { return widths_; }
    const DeviceLayers& layers() const { return on_device_; }
    int64_t bytes() const { return packed_.bytes(); }

private:
    DeviceLayers lay_out(DeviceImage& image) const;
    DeviceLayer lay_out(DeviceImage& image, int64_t index) const;
    DeviceCoarse coarse(DeviceImage& image, const CoarseMlp<float>& mlp,
                        const std::string& name) const;
    kernels::DeviceLinear pairs(DeviceImage& image, const kernels::SwiGlu<float>& mlp,
                                const std::string& name) const;

    const Config& config_;
    const Layers<float>& layers_;
    DeviceWidths widths_;
    DeviceLayers on_device_;
    PackedWeights packed_;
};

/// Throws not_supported, with the property and the limit, for a network that a device does not
/// support.
void require_device_sizes(const Config& config);

}  // namespace surrogate::impl::bsa
