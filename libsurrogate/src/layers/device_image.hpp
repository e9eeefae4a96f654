// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kernels/device/channels.hpp"
#include "kernels/device/operand.hpp"
#include "kernels/linear/linear_device.hpp"
#include "kernels/norm/norm_device.hpp"
#include "libsurrogate/src/device/device_context.hpp"
#include "libsurrogate/src/layers/weights.hpp"

namespace surrogate::impl {

/// Operands of a device for a precision that options allow with backend cuda.
kernels::Operand operand_of(const std::string& precision);

/// Weights packed one behind the other, on the host and at the same places on a device. Without
/// memory it only measures; places are then null.
class DeviceImage {
public:
    struct Place {
        char* host = nullptr;
        char* device = nullptr;
    };

    DeviceImage(kernels::Operand operand, char* host, char* device)
        : operand_(operand), host_(host), device_(device) {}

    kernels::Operand operand() const { return operand_; }
    int64_t size() const { return size_; }

    /// Reserves the next n_byte bytes, aligned.
    Place take(int64_t n_byte);
    /// Copies n numbers as they are; null stays null.
    const float* floats(const float* values, int64_t n);
    /// Packs channels by pack_channels().
    const float* vector(const kernels::DeviceChannels& channels, const float* values,
                        bool is_per_head = false);
    kernels::DeviceNorm norm(const kernels::DeviceChannels& channels,
                             const kernels::Norm<float>& norm, bool is_per_head = false);
    /// Packs a layer by pack_linear(). Throws not_supported for a weight that fp16 cannot hold, by
    /// `name`.
    kernels::DeviceLinear linear(const kernels::DeviceChannels& in,
                                 const kernels::DeviceChannels& out,
                                 const kernels::Linear<float>& layer, const std::string& name);

    /// Throws not_supported if fp16 is wanted and cannot hold one of the numbers: `name` of theirs.
    void require_half(const float* values, int64_t n, const std::string& name) const;

private:
    kernels::Operand operand_;
    char* host_;
    char* device_;
    int64_t size_ = 0;
};

/// The weights of a model on a device, in one allocation and one precision. They follow
/// MasterWeights::refresh(): packed again into the same memory, so that recorded runs stay valid.
class PackedWeights {
public:
    /// Packs the weights. lay_out packs everything into the image and keeps the addresses on the
    /// device; it is called again for each refresh. `context`, `master` and everything lay_out
    /// holds must outlive the object. Local; waits for the copy, and a refresh first waits for runs
    /// that were enqueued before it, which read the old weights. Both throw what lay_out throws,
    /// no_memory, device.
    PackedWeights(DeviceContext& context, kernels::Operand operand, const MasterWeights& master,
                  std::function<void(DeviceImage&)> lay_out);
    PackedWeights(const PackedWeights&) = delete;
    PackedWeights& operator=(const PackedWeights&) = delete;

    kernels::Operand operand() const { return operand_; }
    int64_t bytes() const { return n_byte_; }

private:
    void pack();

    DeviceContext& context_;
    kernels::Operand operand_;
    std::function<void(DeviceImage&)> lay_out_;
    int64_t n_byte_ = 0;
    DeviceMemory memory_;
    // Kept from the first refresh on: steps of a training refresh.
    PinnedMemory host_;
    DeviceStream stream_;
    Refresh refresh_;
};

/// Plans of one precision share a network's weights on a device; the last one takes them along.
template <class DeviceWeights>
class SharedByOperand {
public:
    /// Returns the weights of `precision`, or new ones made of (context, operand, config, layers),
    /// which outlive them.
    template <class Config, class Layers>
    std::shared_ptr<const DeviceWeights> get(DeviceContext& context, const std::string& precision,
                                             const Config& config, const Layers& layers) {
        const kernels::Operand operand = operand_of(precision);
        auto& kept = kept_[static_cast<size_t>(operand)];
        std::shared_ptr<const DeviceWeights> weights = kept.lock();
        if (!weights) {
            weights = std::make_shared<const DeviceWeights>(context, operand, config, layers);
            kept = weights;
        }
        return weights;
    }

private:
    std::array<std::weak_ptr<const DeviceWeights>, 4> kept_;
};

}  // namespace surrogate::impl
