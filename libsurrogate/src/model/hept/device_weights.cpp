// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/device_weights.hpp"

#include <string>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/family/device_limits.hpp"

namespace surrogate::impl::hept {

using kernels::DeviceChannels;
using kernels::Linear;
using kernels::plain_channels;

namespace {

/// Returns the channels of n_part parts, each with the channels of all heads.
DeviceChannels in_heads(const Config& config, const kernels::hept::DeviceHead& head,
                        int64_t n_part) {
    const int64_t n = n_part * config.num_heads, padded = head.channel_width;
    return {n * config.h_dim, config.h_dim, padded, plain_channels(n * padded).width};
}

}  // namespace

void require_device_sizes(const Config& config) {
    static_assert(PointDomain::max_axis <= kernels::hept::most_coordinates);
    require_at_most_on_device("HEPT", "h_dim", config.h_dim, kernels::hept::largest_head);
}

DeviceWidths::DeviceWidths(const Config& config)
    : head(kernels::hept::device_head(config.h_dim, config.coords_dim)),
      features(plain_channels(config.n_feature())),
      tokens(plain_channels(config.h_dim)),
      qkv(in_heads(config, head, 3)),
      heads(in_heads(config, head, 1)),
      embedding(plain_channels(config.n_embedding())),
      wide(plain_channels(Config::mlp_width)),
      outputs(plain_channels(config.n_out())) {}

DeviceLayer DeviceWeights::lay_out_layer(DeviceImage& image, int64_t i) const {
    const DeviceWidths& w = widths_;
    const LayerWeights<float>& from = layers_.layers[static_cast<size_t>(i)];
    const std::string name = layer_name(i);
    const Linear<float> qkv{config_.h_dim, 3 * config_.num_heads * config_.h_dim,
                            from.projections.data(), nullptr};
    const Linear<float> out = layers_.weights.linear(name + "attn.out_linear");
    DeviceLayer to;
    to.norm1 = image.norm(w.tokens, from.norm1);
    to.norm2 = image.norm(w.tokens, from.norm2);
    to.qkv = image.linear(w.tokens, w.qkv, qkv, name + "w_q, w_k, w_v");
    to.out = image.linear(w.heads, w.tokens, out, name + "attn.out_linear");
    to.ff_in = image.linear(w.tokens, w.tokens, from.ff.layers[0], name + "ff.0");
    to.ff_out = image.linear(w.tokens, w.tokens, from.ff.layers[1], name + "ff.2");
    to.states = image.linear(w.tokens, w.embedding, from.states, "W");
    to.scale = image.floats(from.scales.data(), config_.num_heads * config_.coords_dim);
    to.alpha = image.floats(from.alpha.data(), std::ssize(from.alpha));
    return to;
}

DeviceLayers DeviceWeights::lay_out(DeviceImage& image) const {
    const DeviceWidths& w = widths_;
    DeviceLayers to;
    to.encoder_in = image.linear(w.features, w.tokens, layers_.encoder.layers[0], "feat_encoder.0");
    to.encoder_out = image.linear(w.tokens, w.tokens, layers_.encoder.layers[1], "feat_encoder.2");
    to.states = image.linear(w.tokens, w.embedding, layers_.states, "W");
    for (int64_t i = 0; i < config_.n_layers; ++i) to.layers.push_back(lay_out_layer(image, i));
    for (size_t j = 0; j < to.mlp.size(); ++j) {
        const bool is_last = j + 1 == to.mlp.size();
        to.mlp[j] = image.linear(j == 0 ? w.embedding : w.wide, is_last ? w.embedding : w.wide,
                                 layers_.mlp[j], "mlp_out.lins." + std::to_string(j));
        if (!is_last) to.mlp_norm[j] = image.norm(w.wide, layers_.mlp_norm[j]);
    }
    if (config_.is_pileup)
        to.classes =
            image.floats(layers_.classes, Config::n_class_of_particle * Config::class_width);
    if (config_.num_classes > 0)
        to.out = image.linear(w.embedding, w.outputs, layers_.out, "out_proj");
    return to;
}

DeviceWeights::DeviceWeights(DeviceContext& context, kernels::Operand operand, const Config& config,
                             const Layers<float>& layers)
    : config_(config),
      layers_(layers),
      widths_(config),
      packed_(context, operand, layers.weights.master(),
              [this](DeviceImage& image) { on_device_ = lay_out(image); }) {}

}  // namespace surrogate::impl::hept
