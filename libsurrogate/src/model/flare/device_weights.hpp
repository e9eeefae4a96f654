// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/flare/flare_device.hpp"
#include "libsurrogate/src/layers/device_image.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"

namespace surrogate::impl::flare {

/// The weights of one block, as the passes take them; all pointers are device memory.
struct DeviceBlock {
    kernels::DeviceNorm norm1, k_norm, norm2;
    kernels::DeviceMlp k_proj, v_proj, out_proj, ffn;
    const void* queries = nullptr;
};

/// All layers of a model, likewise. out_norm without a weight: there is none.
struct DeviceLayers {
    kernels::DeviceMlp in_proj, out_proj;
    kernels::DeviceNorm out_norm;
    std::vector<DeviceBlock> blocks;
};

/// The weights of a FLARE model on a device; plans share them. `device`, `config` and `layers` must
/// outlive it.
class DeviceWeights {
public:
    /// As PackedWeights. Throws not_supported (sizes beyond the device's limits; a weight that fp16
    /// cannot hold, by name), no_memory, device. A refresh throws the same.
    DeviceWeights(DeviceContext& context, kernels::Operand operand, const Config& config,
                  const Layers<float>& layers);

    kernels::Operand operand() const { return packed_.operand(); }
    const kernels::flare::DeviceShape& shape() const { return shape_; }
    const DeviceLayers& layers() const { return on_device_; }
    int64_t bytes() const { return packed_.bytes(); }

    // Arguments of a block's passes that come from its weights; points and their memory are still
    // to be set.
    kernels::flare::EncodeArgs encode_args(const DeviceBlock& block) const;
    kernels::flare::DecodeArgs decode_args(const DeviceBlock& block) const;

private:
    DeviceLayers lay_out(DeviceImage& image) const;

    const Config& config_;
    const Layers<float>& layers_;
    kernels::flare::DeviceShape shape_;
    DeviceLayers on_device_;
    PackedWeights packed_;
};

}  // namespace surrogate::impl::flare
