// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/layers/device_image.hpp"
#include "libsurrogate/src/model/bsa/device_weights.hpp"
#include "libsurrogate/src/model/bsa/erwin_layers.hpp"

namespace surrogate::impl::bsa::erwin {

/// Weights of a step of message passing; pointers are device memory. The layer of an edge is split:
/// its products with source and target are computed once per point.
struct DeviceStep {
    kernels::DeviceLinear parts;           ///< pair: products of the source, of the target
    const float* position = nullptr;       ///< (width, d)
    const float* position_bias = nullptr;  ///< (width)
    kernels::DeviceLinear update;          ///< reads a pair
    kernels::DeviceNorm message_norm, update_norm;
};

/// Weights of the transition from a level to the next one, and back.
struct DeviceWay {
    kernels::DeviceLinear pool, unpool;
    const float* scale = nullptr;  ///< scale of the skip connection, (C)
};

/// Weights of a U-net in device memory; plans share them. `device`, `config` and `layers` must
/// outlive this object.
class DeviceWeights {
public:
    /// Packs the weights and copies them to the device, like PackedWeights. Local.
    DeviceWeights(DeviceContext& context, kernels::Operand operand, const Config& config,
                  const Layers<float>& layers);

    kernels::Operand operand() const { return packed_.operand(); }
    /// Returns the channels of a level.
    const kernels::DeviceChannels& nodes(size_t level) const { return nodes_[level]; }
    /// Returns the channels of a pair: the row of a point and the mean of its messages, side by
    /// side.
    const kernels::DeviceChannels& pair() const { return pair_; }
    kernels::DeviceChannels features() const { return kernels::plain_channels(config_.n_feature); }
    /// Returns the channels that pooling from a level reads, that unpooling to it reads, and that
    /// unpooling writes.
    kernels::DeviceChannels pooled(size_t level) const;
    kernels::DeviceChannels unpooled(size_t level) const;
    kernels::DeviceChannels children(size_t level) const;

    kernels::DeviceChannels outputs() const { return kernels::plain_channels(config_.n_output); }

    /// Returns weight and bias of the features of coordinates; null if there are none.
    const float* encoding() const { return encoding_; }
    const float* encoding_bias() const { return encoding_bias_; }
    const kernels::DeviceLinear& embedding() const { return embedding_; }
    const kernels::DeviceLinear& head_in() const { return head_in_; }
    const kernels::DeviceLinear& head_out() const { return head_out_; }
    const std::vector<DeviceStep>& steps() const { return steps_; }
    const std::vector<DeviceWay>& ways() const { return ways_; }
    // Null for a stage without blocks:
    const bsa::DeviceWeights* encoder(size_t level) const { return encoders_[level].get(); }
    const bsa::DeviceWeights* decoder(size_t level) const { return decoders_[level].get(); }
    int64_t bytes() const;

private:
    void lay_out(DeviceImage& image);
    DeviceStep step(DeviceImage& image, size_t index) const;
    DeviceWay way(DeviceImage& image, size_t level) const;

    const Config& config_;
    const Layers<float>& layers_;
    std::vector<kernels::DeviceChannels> nodes_;  // (L + 1)
    kernels::DeviceChannels pair_;
    const float *encoding_ = nullptr, *encoding_bias_ = nullptr;
    kernels::DeviceLinear embedding_, head_in_, head_out_;
    std::vector<DeviceStep> steps_;
    std::vector<DeviceWay> ways_;  // (L)
    std::vector<std::unique_ptr<const bsa::DeviceWeights>> encoders_, decoders_;
    PackedWeights packed_;
};

/// Throws not_supported, with the property and the limit, for a U-net that a device does not
/// support.
void require_device_sizes(const Config& config);

}  // namespace surrogate::impl::bsa::erwin
