// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/device_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace surrogate::impl::flare {

using kernels::DeviceMlp;
using kernels::DeviceNorm;
using kernels::Linear;
using kernels::Norm;
using kernels::Operand;
using kernels::flare::DeviceShape;

namespace {

constexpr size_t max_layers = 32;  // of a DeviceMlp
constexpr int64_t alignment = 256;

/// Throws not_supported if fp16 cannot hold one of the numbers.
void require_half(Operand operand, const float* values, int64_t n, const std::string& name) {
    if (operand != Operand::fp16) return;
    constexpr float largest_half = 65504;
    for (int64_t i = 0; i < n; ++i) {
        if (std::abs(values[i]) <= largest_half) continue;
        throw Error(Status::not_supported, "precision 'fp16' holds numbers up to 65504, " + name +
                                               " has " + std::to_string(values[i]) +
                                               "; precision 'tf32' is as accurate and has "
                                               "the range of fp32");
    }
}

int64_t widest(const Config& c) {
    return std::max({c.in_dim, c.out_dim, c.in_proj.n_hidden, c.out_proj.n_hidden,
                     c.k_proj.n_hidden, c.v_proj.n_hidden, c.ffn.n_hidden});
}

}  // namespace

/// Packs weights one behind the other. Without memory it only measures; both times it hands out the
/// places on the device.
class DeviceWeights::Image {
public:
    Image(Operand operand, const DeviceShape& shape, char* host, char* device)
        : operand_(operand), shape_(shape), host_(host), device_(device) {}

    int64_t size() const { return size_; }

    DeviceMlp mlp(const MlpWeights<float>& mlp, const std::string& name, bool reads_port,
                  bool writes_port) {
        if (mlp.layers.size() > max_layers) {
            throw Error(Status::not_supported, "backend 'cuda' takes chains of up to " +
                                                   std::to_string(max_layers) + " layers, " + name +
                                                   " has " + std::to_string(mlp.layers.size()));
        }
        for (const Linear<float>& layer : mlp.layers)
            require_half(operand_, layer.weight, layer.n_in * layer.n_out, "a weight of " + name);
        const Place place =
            take(kernels::layer_bytes(operand_, shape_.width) * std::ssize(mlp.layers));
        DeviceMlp packed = kernels::pack_chain(operand_, shape_.channels(), mlp.view(), reads_port,
                                               writes_port, place.host);
        packed.layers = place.device;
        return packed;
    }

    DeviceNorm norm(const Norm<float>& norm, bool is_per_head) {
        if (!norm.weight) return {};
        const float* weight = vector(norm.weight, is_per_head);
        const float* bias = norm.bias ? vector(norm.bias, is_per_head) : nullptr;
        return {norm.kind, norm.eps, weight, bias};
    }

    const void* queries(const float* by_latent, const std::string& name) {
        const kernels::flare::Sizes& s = shape_.sizes;
        require_half(operand_, by_latent, s.n_head * s.n_latent * s.n_dim, "a query of " + name);
        const Place place = take(kernels::flare::queries_bytes(operand_, shape_));
        if (place.host) kernels::flare::pack_queries(operand_, shape_, by_latent, place.host);
        return place.device;
    }

private:
    struct Place {
        char* host = nullptr;
        char* device = nullptr;
    };

    Place take(int64_t n_byte) {
        const int64_t offset = size_;
        size_ += (n_byte + alignment - 1) / alignment * alignment;
        return host_ ? Place{host_ + offset, device_ + offset} : Place{};
    }

    const float* vector(const float* values, bool is_per_head) {
        const Place place = take(shape_.width * static_cast<int64_t>(sizeof(float)));
        if (!place.host) return nullptr;
        kernels::pack_channels(shape_.channels(), values, is_per_head,
                               reinterpret_cast<float*>(place.host));
        return reinterpret_cast<const float*>(place.device);
    }

    Operand operand_;
    const DeviceShape& shape_;
    char* host_;
    char* device_;
    int64_t size_ = 0;
};

DeviceLayers DeviceWeights::lay_out(Image& image) const {
    DeviceLayers to;
    to.in_proj = image.mlp(layers_.in_proj, "in_proj", true, false);
    to.out_proj = image.mlp(layers_.out_proj, "out_proj", false, true);
    if (config_.out_proj_norm) to.out_norm = image.norm(layers_.out_norm, false);
    for (const BlockWeights<float>& block : layers_.blocks) {
        const std::string name = "blocks." + std::to_string(to.blocks.size());
        DeviceBlock b;
        b.norm1 = image.norm(block.norm1, false);
        b.norm2 = image.norm(block.norm2, false);
        if (config_.qk_norm) b.k_norm = image.norm(block.k_norm, true);
        b.k_proj = image.mlp(block.k_proj, name + ".att.k_proj", false, false);
        b.v_proj = image.mlp(block.v_proj, name + ".att.v_proj", false, false);
        b.ffn = image.mlp(block.ffn, name + ".mlp", false, false);
        const MlpWeights<float> out_proj{{block.out_proj}, config_.activation, false, false};
        b.out_proj = image.mlp(out_proj, name + ".att.out_proj", false, false);
        b.queries = image.queries(block.queries.by_latent, name + ".att.latent_q");
        to.blocks.push_back(b);
    }
    return to;
}

DeviceWeights::DeviceWeights(kernels::Device& device, Operand operand, const Config& config,
                             const Layers<float>& layers)
    : device_(device),
      config_(config),
      layers_(layers),
      operand_(operand),
      shape_(DeviceShape::of({config.num_heads, config.num_latents, config.head_dim()},
                             widest(config))) {
    Image measure(operand, shape_, nullptr, nullptr);
    lay_out(measure);
    n_byte_ = measure.size();
    memory_ = device_memory(device, n_byte_);
    pack();
    refresh_ = layers.weights.master().on_refresh([this] { pack(); });
}

void DeviceWeights::pack() {
    const PinnedMemory host = pinned_memory(device_, n_byte_);
    std::memset(host.get(), 0, static_cast<size_t>(n_byte_));
    Image image(operand_, shape_, static_cast<char*>(host.get()),
                static_cast<char*>(memory_.get()));
    on_device_ = lay_out(image);
    const DeviceStream stream(device_, device_.create_stream());
    device_.copy(memory_.get(), host.get(), n_byte_, stream.get());
    device_.synchronize(stream.get());
}

}  // namespace surrogate::impl::flare
