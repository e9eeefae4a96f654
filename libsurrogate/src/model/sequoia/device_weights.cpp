// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/device_weights.hpp"

#include <string>

namespace surrogate::impl::sequoia {

using kernels::head_channels;
using kernels::plain_channels;

DeviceWidths::DeviceWidths(const Config& config)
    : features(plain_channels(config.c_in)),
      nodes(plain_channels(config.dim)),
      qkv(head_channels(3 * config.num_head, config.head_dim)),
      heads(head_channels(config.num_head, config.head_dim)),
      hidden(plain_channels(config.hidden_dim)),
      outputs(plain_channels(config.num_classes)) {}

DeviceLayers DeviceWeights::lay_out(DeviceImage& image) const {
    const DeviceWidths& w = widths_;
    const int64_t d = config_.dimensionality;
    DeviceLayers to;
    if (config_.features == Features::fourier)
        to.encoding = image.floats(layers_.fourier, config_.c_in / 2 * d);
    if (config_.features == Features::linear) {
        to.encoding = image.floats(layers_.linear_encoding.weight, config_.c_in * d);
        to.encoding_bias = image.floats(layers_.linear_encoding.bias, config_.c_in);
    }
    to.embedding = image.linear(w.features, w.nodes, layers_.embedding, "feature_embeddings");
    for (int64_t i = 0; i < config_.n_weight_layer(); ++i) {
        const LayerWeights<float>& layer = layers_.layer(i);
        const std::string name = layer_name(config_, i);
        DeviceLayer l;
        l.norm1 = image.norm(w.nodes, layer.norm1);
        l.norm2 = image.norm(w.nodes, layer.norm2);
        l.qkv = image.linear(w.nodes, w.qkv, layer.qkv, name + "mha.W_q, W_k, W_v");
        l.ff = image.linear(w.heads, w.nodes, layer.ff, name + "mha.ff");
        l.mlp_in = image.linear(w.nodes, w.hidden, layer.mlp.layers[0], name + "mlpblock.0");
        l.mlp_out = image.linear(w.hidden, w.nodes, layer.mlp.layers[1], name + "mlpblock.3");
        to.layers.push_back(l);
    }
    to.norm = image.norm(w.nodes, layers_.norm);
    to.head_in =
        image.linear(w.nodes, w.hidden, layers_.head.layers[0], "seq_classifer.mlpblock.0");
    to.head_out =
        image.linear(w.hidden, w.outputs, layers_.head.layers[1], "seq_classifer.mlpblock.2");
    return to;
}

DeviceWeights::DeviceWeights(DeviceContext& context, kernels::Operand operand, const Config& config,
                             const Layers<float>& layers)
    : config_(config),
      layers_(layers),
      widths_(config),
      packed_(context, operand, layers.weights.master(),
              [this](DeviceImage& image) { on_device_ = lay_out(image); }) {}

}  // namespace surrogate::impl::sequoia
