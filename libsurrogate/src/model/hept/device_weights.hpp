// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/hept/hept_device.hpp"
#include "libsurrogate/src/layers/device_image.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/layers.hpp"

namespace surrogate::impl::hept {

/// Throws not_supported, with the limit, for networks that kernels/hept does not support on a
/// device. Local.
void require_device_sizes(const Config& config);

/// Channel layout of a model on a device. Widths are multiples of 16; DeviceHead holds the widths
/// of a head.
struct DeviceWidths {
    kernels::hept::DeviceHead head;
    kernels::DeviceChannels features, tokens, qkv, heads, embedding, wide, outputs;

    explicit DeviceWidths(const Config& config);
};

/// Weights of one layer; all pointers are device memory.
struct DeviceLayer {
    kernels::DeviceNorm norm1, norm2;
    kernels::DeviceLinear qkv, out, ff_in, ff_out;
    kernels::DeviceLinear states;  ///< for the layer's result
    const float* scale = nullptr;  ///< (H, D)
    const float* alpha = nullptr;  ///< (H, C, E)
};

/// All weights of the network; pointers are device memory.
struct DeviceLayers {
    kernels::DeviceLinear encoder_in, encoder_out;
    const float* classes = nullptr;  ///< pids_enc, pile-up only
    kernels::DeviceLinear states;    ///< for the encoder's result
    std::vector<DeviceLayer> layers;
    std::array<kernels::DeviceLinear, 5> mlp;
    std::array<kernels::DeviceNorm, 4> mlp_norm;
    kernels::DeviceLinear out;  ///< only with classes
};

/// Weights of a HEPT model in device memory; plans share them. `device`, `config` and `layers` must
/// outlive this object.
class DeviceWeights {
public:
    /// Packs the weights and copies them to the device, like PackedWeights. Local.
    DeviceWeights(DeviceContext& context, kernels::Operand operand, const Config& config,
                  const Layers<float>& layers);

    kernels::Operand operand() const { return packed_.operand(); }
    const DeviceWidths& widths() const { return widths_; }
    const DeviceLayers& layers() const { return on_device_; }
    const Layers<float>& host_layers() const { return layers_; }
    int64_t bytes() const { return packed_.bytes(); }

private:
    DeviceLayer lay_out_layer(DeviceImage& image, int64_t i) const;
    DeviceLayers lay_out(DeviceImage& image) const;

    const Config& config_;
    const Layers<float>& layers_;
    DeviceWidths widths_;
    DeviceLayers on_device_;
    PackedWeights packed_;
};

}  // namespace surrogate::impl::hept
