// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/model/sphere/device_attention.hpp"

namespace surrogate::impl::sphere {

/// Positions of a Transformer's channels on a device.
struct DeviceWidths {
    kernels::DeviceChannels gathered, points, hidden, expanded;

    explicit DeviceWidths(const Transformer& config);
};

/// Weights of one block; all pointers are device memory. Without an MLP both of its layers are the
/// identity.
struct DeviceBlock {
    kernels::DeviceNorm norm0, norm1;  ///< over channels; of an instance norm weight, bias and eps
    DeviceAttention attention;
    kernels::DeviceLinear mlp_in, mlp_out;
};

struct DeviceLayers {
    kernels::DeviceLinear encoder;     ///< behind its geometry
    const float* embedding = nullptr;  ///< stream on the internal grid; null: none
    std::vector<DeviceBlock> blocks;
    kernels::DeviceLinear decoder;  ///< before its geometry
};

/// The weights of a Transformer on a device; plans share them. `device`, `config` and `weights`
/// must outlive it.
class DeviceWeights {
public:
    /// As PackedWeights.
    DeviceWeights(DeviceContext& context, kernels::Operand operand, const Transformer& config,
                  const Weights<float>& weights);

    kernels::Operand operand() const { return packed_.operand(); }
    const DeviceWidths& widths() const { return widths_; }
    const DeviceLayers& layers() const { return on_device_; }
    int64_t bytes() const { return packed_.bytes(); }

private:
    DeviceLayers lay_out(DeviceImage& image) const;
    DeviceBlock lay_out_block(DeviceImage& image, int64_t i) const;
    const float* embedding(DeviceImage& image) const;

    const Transformer& config_;
    const Weights<float>& weights_;
    DeviceWidths widths_;
    DeviceLayers on_device_;
    PackedWeights packed_;
};

}  // namespace surrogate::impl::sphere
