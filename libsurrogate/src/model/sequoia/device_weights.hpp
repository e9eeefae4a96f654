// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/layers/device_image.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"

namespace surrogate::impl::sequoia {

/// Channel layout of a model on a device: widths are multiples of 16, heads multiples of 8.
struct DeviceWidths {
    kernels::DeviceChannels features, nodes, qkv, heads, hidden, outputs;

    explicit DeviceWidths(const Config& config);
    int64_t head_groups() const { return heads.n_dim_padded / 8; }
};

/// Weights of one layer; all pointers are device memory.
struct DeviceLayer {
    kernels::DeviceNorm norm1, norm2;
    kernels::DeviceLinear qkv, ff, mlp_in, mlp_out;
};

/// All weights of the network; pointers are device memory.
struct DeviceLayers {
    const float* encoding = nullptr;       ///< position encoding: (c_in / 2, d) or (c_in, d)
    const float* encoding_bias = nullptr;  ///< linear encoding (c_in)
    kernels::DeviceLinear embedding;
    std::vector<DeviceLayer> layers;
    kernels::DeviceNorm norm;
    kernels::DeviceLinear head_in, head_out;
};

/// Weights of a Sequoia model in device memory; plans share them. `device`, `config` and `layers`
/// must outlive this object.
class DeviceWeights {
public:
    /// Packs the weights and copies them to the device, like PackedWeights. Local.
    DeviceWeights(DeviceContext& context, kernels::Operand operand, const Config& config,
                  const Layers<float>& layers);

    kernels::Operand operand() const { return packed_.operand(); }
    const DeviceWidths& widths() const { return widths_; }
    const DeviceLayers& layers() const { return on_device_; }
    /// Returns the weights of layer i; with tied weights all layers have the same weights.
    const DeviceLayer& layer(int64_t i) const {
        return on_device_.layers[on_device_.layers.size() == 1 ? 0 : static_cast<size_t>(i)];
    }
    int64_t bytes() const { return packed_.bytes(); }

private:
    DeviceLayers lay_out(DeviceImage& image) const;

    const Config& config_;
    const Layers<float>& layers_;
    DeviceWidths widths_;
    DeviceLayers on_device_;
    PackedWeights packed_;
};

}  // namespace surrogate::impl::sequoia
