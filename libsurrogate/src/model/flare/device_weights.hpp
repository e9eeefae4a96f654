// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/flare/flare_device.hpp"
#include "libsurrogate/src/device/device_memory.hpp"
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

/// The weights of a FLARE model on a device, in one allocation and one precision; plans share it.
/// They follow MasterWeights::refresh(): packed again into the same memory, so that recorded runs
/// stay valid. `device`, `config` and `layers` must outlive it.
class DeviceWeights {
public:
    /// Local; waits until the weights are there. Throws not_supported (sizes beyond the device's
    /// limits; a weight that fp16 cannot hold, by name), no_memory, device. A refresh throws the
    /// same.
    DeviceWeights(kernels::Device& device, kernels::Operand operand, const Config& config,
                  const Layers<float>& layers);
    DeviceWeights(const DeviceWeights&) = delete;
    DeviceWeights& operator=(const DeviceWeights&) = delete;

    kernels::Operand operand() const { return operand_; }
    const kernels::flare::DeviceShape& shape() const { return shape_; }
    const DeviceLayers& layers() const { return on_device_; }
    int64_t bytes() const { return n_byte_; }

private:
    class Image;
    DeviceLayers lay_out(Image& image) const;
    void pack();

    kernels::Device& device_;
    const Config& config_;
    const Layers<float>& layers_;
    kernels::Operand operand_;
    kernels::flare::DeviceShape shape_;
    int64_t n_byte_ = 0;
    DeviceMemory memory_;
    DeviceLayers on_device_;
    Refresh refresh_;
};

}  // namespace surrogate::impl::flare
