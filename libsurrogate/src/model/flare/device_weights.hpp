// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/flare/flare_device.hpp"
#include "libsurrogate/src/core/device_memory.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"

namespace surrogate::impl::flare {

/// The weights of one block, as the passes take them; all pointers are device memory.
struct DeviceBlock {
    kernels::DeviceNorm norm1, k_norm, norm2;
    kernels::DeviceMlp k_proj, v_proj, out_proj, ffn;
    const void* queries = nullptr;
};

/// All weights of a FLARE model on a device, in one allocation and one precision. Immutable; plans
/// share it. The device must outlive it.
class DeviceWeights {
public:
    /// Local; waits until the weights are there. Throws not_supported (sizes beyond the device's
    /// limits; a weight that fp16 cannot hold, by name), no_memory, device.
    DeviceWeights(kernels::Device& device, kernels::Operand operand, const Config& config,
                  const Layers<float>& weights);

    kernels::Operand operand() const { return operand_; }
    const kernels::flare::DeviceShape& shape() const { return shape_; }
    const kernels::DeviceMlp& in_proj() const { return in_proj_; }
    const kernels::DeviceMlp& out_proj() const { return out_proj_; }
    const kernels::DeviceNorm& out_norm() const { return out_norm_; }  ///< no weight: there is none
    const std::vector<DeviceBlock>& blocks() const { return blocks_; }
    int64_t bytes() const { return n_byte_; }

private:
    class Image;
    void lay_out(Image& image, const Config& config, const Layers<float>& weights);

    kernels::Operand operand_;
    kernels::flare::DeviceShape shape_;
    kernels::DeviceMlp in_proj_, out_proj_;
    kernels::DeviceNorm out_norm_;
    std::vector<DeviceBlock> blocks_;
    int64_t n_byte_ = 0;
    DeviceMemory memory_;
};

}  // namespace surrogate::impl::flare
