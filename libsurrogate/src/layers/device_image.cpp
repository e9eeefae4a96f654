// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/layers/device_image.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace surrogate::impl {

using kernels::DeviceChannels;
using kernels::DeviceLinear;
using kernels::DeviceNorm;
using kernels::Linear;
using kernels::Norm;
using kernels::Operand;

kernels::Operand operand_of(const std::string& precision) {
    for (const Operand operand : {Operand::tf32, Operand::fp16, Operand::bf16}) {
        if (precision == kernels::name(operand)) return operand;
    }
    return Operand::fp32;
}

DeviceImage::Place DeviceImage::take(int64_t n_byte) {
    constexpr int64_t alignment = 256;
    const int64_t offset = size_;
    size_ += (n_byte + alignment - 1) / alignment * alignment;
    return host_ ? Place{host_ + offset, device_ + offset} : Place{};
}

const float* DeviceImage::floats(const float* values, int64_t n) {
    if (!values) return nullptr;
    const Place place = take(n * static_cast<int64_t>(sizeof(float)));
    if (place.host) std::copy_n(values, n, reinterpret_cast<float*>(place.host));
    return reinterpret_cast<const float*>(place.device);
}

const float* DeviceImage::vector(const DeviceChannels& channels, const float* values,
                                 bool is_per_head) {
    const Place place = take(channels.width * static_cast<int64_t>(sizeof(float)));
    if (!place.host) return nullptr;
    kernels::pack_channels(channels, values, is_per_head, reinterpret_cast<float*>(place.host));
    return reinterpret_cast<const float*>(place.device);
}

DeviceNorm DeviceImage::norm(const DeviceChannels& channels, const Norm<float>& norm,
                             bool is_per_head) {
    if (!norm.weight) return {};
    const float* weight = vector(channels, norm.weight, is_per_head);
    const float* bias = norm.bias ? vector(channels, norm.bias, is_per_head) : nullptr;
    return {norm.kind, norm.eps, weight, bias};
}

DeviceLinear DeviceImage::linear(const DeviceChannels& in, const DeviceChannels& out,
                                 const Linear<float>& layer, const std::string& name) {
    require_half(layer.weight, layer.n_in * layer.n_out, "a weight of " + name);
    const Place place = take(kernels::linear_bytes(operand_, in.width, out.width));
    if (place.host) kernels::pack_linear(operand_, in, out, layer, place.host);
    return {place.device, static_cast<int32_t>(in.width), static_cast<int32_t>(out.width)};
}

void DeviceImage::require_half(const float* values, int64_t n, const std::string& name) const {
    if (operand_ != Operand::fp16) return;
    constexpr float largest_half = 65504;
    for (int64_t i = 0; i < n; ++i) {
        if (std::abs(values[i]) <= largest_half) continue;
        throw Error(Status::not_supported, "precision 'fp16' holds numbers up to 65504, " + name +
                                               " has " + std::to_string(values[i]) +
                                               "; precision 'tf32' is as accurate and has "
                                               "the range of fp32");
    }
}

PackedWeights::PackedWeights(DeviceContext& context, Operand operand, const MasterWeights& master,
                             std::function<void(DeviceImage&)> lay_out)
    : context_(context), operand_(operand), lay_out_(std::move(lay_out)) {
    DeviceImage measure(operand, nullptr, nullptr);
    lay_out_(measure);
    n_byte_ = measure.size();
    memory_ = device_memory(context.device(), n_byte_);
    pack();
    host_ = {};
    stream_ = {};
    refresh_ = master.on_refresh([this] { pack(); });
}

void PackedWeights::pack() {
    kernels::Device& device = context_.device();
    if (!host_) host_ = pinned_memory(device, n_byte_);
    if (!stream_) stream_ = DeviceStream(device, device.create_stream());
    std::memset(host_.get(), 0, static_cast<size_t>(n_byte_));
    DeviceImage image(operand_, static_cast<char*>(host_.get()), static_cast<char*>(memory_.get()));
    lay_out_(image);
    if (refresh_) return context_.replace(memory_.get(), host_.get(), n_byte_, stream_.get());
    device.copy(memory_.get(), host_.get(), n_byte_, stream_.get());
    device.synchronize(stream_.get());
}

}  // namespace surrogate::impl
