// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/device_weights.hpp"

#include <algorithm>

namespace surrogate::impl::flare {

using kernels::DeviceMlp;
using kernels::DeviceNorm;
using kernels::Linear;
using kernels::Norm;
using kernels::Operand;
using kernels::flare::DeviceShape;

namespace {

constexpr size_t max_layers = 32;  // of a DeviceMlp

int64_t widest(const Config& c) {
    return std::max({c.in_dim, c.out_dim, c.in_proj.n_hidden, c.out_proj.n_hidden,
                     c.k_proj.n_hidden, c.v_proj.n_hidden, c.ffn.n_hidden});
}

/// Packs what only FLARE's passes take.
class Packer {
public:
    Packer(DeviceImage& image, const DeviceShape& shape) : image_(image), shape_(shape) {}

    DeviceMlp mlp(const MlpWeights<float>& mlp, const std::string& name, bool reads_port,
                  bool writes_port) {
        if (mlp.layers.size() > max_layers) {
            throw Error(Status::not_supported, "backend 'cuda' takes chains of up to " +
                                                   std::to_string(max_layers) + " layers, " + name +
                                                   " has " + std::to_string(mlp.layers.size()));
        }
        for (const Linear<float>& layer : mlp.layers)
            image_.require_half(layer.weight, layer.n_in * layer.n_out, "a weight of " + name);
        const DeviceImage::Place place = image_.take(
            kernels::layer_bytes(image_.operand(), shape_.width) * std::ssize(mlp.layers));
        DeviceMlp packed = kernels::pack_chain(image_.operand(), shape_.channels(), mlp.view(),
                                               reads_port, writes_port, place.host);
        packed.layers = place.device;
        return packed;
    }

    DeviceNorm norm(const Norm<float>& norm, bool is_per_head) {
        return image_.norm(shape_.channels(), norm, is_per_head);
    }

    const void* queries(const float* by_latent, const std::string& name) {
        const kernels::flare::Sizes& s = shape_.sizes;
        image_.require_half(by_latent, s.n_head * s.n_latent * s.n_dim, "a query of " + name);
        const DeviceImage::Place place =
            image_.take(kernels::flare::queries_bytes(image_.operand(), shape_));
        if (place.host)
            kernels::flare::pack_queries(image_.operand(), shape_, by_latent, place.host);
        return place.device;
    }

private:
    DeviceImage& image_;
    const DeviceShape& shape_;
};

}  // namespace

DeviceLayers DeviceWeights::lay_out(DeviceImage& image) const {
    Packer packer(image, shape_);
    DeviceLayers to;
    to.in_proj = packer.mlp(layers_.in_proj, "in_proj", true, false);
    to.out_proj = packer.mlp(layers_.out_proj, "out_proj", false, true);
    if (config_.out_proj_norm) to.out_norm = packer.norm(layers_.out_norm, false);
    for (const BlockWeights<float>& block : layers_.blocks) {
        const std::string name = "blocks." + std::to_string(to.blocks.size());
        DeviceBlock b;
        b.norm1 = packer.norm(block.norm1, false);
        b.norm2 = packer.norm(block.norm2, false);
        if (config_.qk_norm) b.k_norm = packer.norm(block.k_norm, true);
        b.k_proj = packer.mlp(block.k_proj, name + ".att.k_proj", false, false);
        b.v_proj = packer.mlp(block.v_proj, name + ".att.v_proj", false, false);
        b.ffn = packer.mlp(block.ffn, name + ".mlp", false, false);
        const MlpWeights<float> out_proj{{block.out_proj}, config_.activation, false, false};
        b.out_proj = packer.mlp(out_proj, name + ".att.out_proj", false, false);
        b.queries = packer.queries(block.queries.by_latent, name + ".att.latent_q");
        to.blocks.push_back(b);
    }
    return to;
}

kernels::flare::EncodeArgs DeviceWeights::encode_args(const DeviceBlock& block) const {
    kernels::flare::EncodeArgs args;
    args.shape = shape_;
    args.operand = operand();
    args.norm = block.norm1;
    args.k_norm = block.k_norm;
    args.k_proj = block.k_proj;
    args.v_proj = block.v_proj;
    args.queries = block.queries;
    return args;
}

kernels::flare::DecodeArgs DeviceWeights::decode_args(const DeviceBlock& block) const {
    kernels::flare::DecodeArgs args;
    args.shape = shape_;
    args.operand = operand();
    args.queries = block.queries;
    args.out_proj = block.out_proj;
    args.norm = block.norm2;
    args.ffn = block.ffn;
    return args;
}

DeviceWeights::DeviceWeights(DeviceContext& context, Operand operand, const Config& config,
                             const Layers<float>& layers)
    : config_(config),
      layers_(layers),
      shape_(DeviceShape::of({config.num_heads, config.num_latents, config.head_dim()},
                             widest(config))),
      packed_(context, operand, layers.weights.master(),
              [this](DeviceImage& image) { on_device_ = lay_out(image); }) {}

}  // namespace surrogate::impl::flare
