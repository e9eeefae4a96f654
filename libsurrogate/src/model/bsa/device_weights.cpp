// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/device_weights.hpp"

#include <algorithm>
#include <string>

#include "kernels/bsa/bsa_device.hpp"
#include "libsurrogate/src/model/family/device_limits.hpp"

namespace surrogate::impl::bsa {

using kernels::head_channels;
using kernels::plain_channels;

namespace {

/// Copies numbers (n_row, n_column) and appends rows of zeros.
std::vector<float> with_zero_rows(const float* values, int64_t n_row, int64_t n_column,
                                  int64_t n_padded) {
    std::vector<float> padded(static_cast<size_t>(n_padded * n_column));
    std::copy_n(values, n_row * n_column, padded.begin());
    return padded;
}

}  // namespace

void require_device_sizes(const Config& config) {
    require_at_most_on_device(Config::family, "channels of a head", config.head_dim(),
                              kernels::bsa::largest_head);
    if (config.is_sparse())
        require_at_most_on_device(Config::family, "selected_blocks_number", config.n_choice,
                                  kernels::bsa::most_choices);
}

DeviceWidths::DeviceWidths(const Config& config)
    : features(plain_channels(config.n_feature)),
      nodes(plain_channels(config.n_channel)),
      qkv(head_channels(3 * config.n_head, config.head_dim())),
      heads(head_channels(config.n_head, config.head_dim())),
      gates(plain_channels(3 * config.n_head)),
      folded(plain_channels(config.block_size * config.head_dim())),
      coarse_hidden(plain_channels(config.n_coarse_hidden)),
      coarse(plain_channels(config.head_dim())),
      hidden(plain_channels(config.n_hidden)),
      outputs(plain_channels(config.n_output)) {}

DeviceCoarse DeviceWeights::coarse(DeviceImage& image, const CoarseMlp<float>& mlp,
                                   const std::string& name) const {
    if (mlp.layers.empty()) return {};
    const DeviceWidths& w = widths_;
    return {image.linear(w.folded, w.coarse_hidden, mlp.layers[0], name + ".0"),
            image.linear(w.coarse_hidden, w.coarse, mlp.layers[1], name + ".2")};
}

/// Combines w1 and w2 into one layer with 8 outputs of each in turn, the layout of
/// DeviceActivation::swiglu.
kernels::DeviceLinear DeviceWeights::pairs(DeviceImage& image, const kernels::SwiGlu<float>& mlp,
                                           const std::string& name) const {
    const int64_t n_in = mlp.w1.n_in, n_pair = widths_.hidden.width;
    std::vector<float> weight(static_cast<size_t>(2 * n_pair * n_in));
    std::vector<float> bias(static_cast<size_t>(2 * n_pair));
    for (int64_t c = 0; c < mlp.n_hidden(); ++c) {
        for (const auto& [layer, first] : {std::pair(&mlp.w1, 0), std::pair(&mlp.w2, 8)}) {
            const int64_t row = c / 8 * 16 + first + c % 8;
            std::copy_n(layer->weight + c * n_in, n_in, &weight[static_cast<size_t>(row * n_in)]);
            bias[static_cast<size_t>(row)] = layer->bias[c];
        }
    }
    const kernels::Linear<float> both{n_in, 2 * n_pair, weight.data(), bias.data()};
    return image.linear(widths_.nodes, plain_channels(2 * n_pair), both, name + "w1, w2");
}

DeviceLayer DeviceWeights::lay_out(DeviceImage& image, int64_t index) const {
    const DeviceWidths& w = widths_;
    const LayerWeights<float>& layer = layers_.layers[static_cast<size_t>(index)];
    const std::string name = layer_name(config_, index);
    const int64_t c = config_.n_channel, d = config_.n_axis;
    DeviceLayer to;
    if (layer.norm1.weight) to.norm1 = image.norm(w.nodes, layer.norm1);
    if (layer.norm2.weight) to.norm2 = image.norm(w.nodes, layer.norm2);
    if (config_.has_balls()) {
        to.position = image.floats(
            with_zero_rows(layer.position.weight, c, d, w.nodes.width).data(), w.nodes.width * d);
        to.position_bias = image.vector(w.nodes, layer.position.bias);
        to.sigma = image.floats(layer.sigma.data(), config_.n_head);
    }
    const kernels::Linear<float> qkv{c, 3 * c, layer.q.weight, layer.q.bias};
    to.qkv = image.linear(w.nodes, w.qkv, qkv, name + "attn.qkv");
    to.out = image.linear(w.heads, w.nodes, layer.out, name + "attn.out_proj");
    if (config_.is_single_layer) return to;
    to.mlp_in = pairs(image, layer.mlp, name + "mlp.");
    to.mlp_out = image.linear(w.hidden, w.nodes, layer.mlp.w3, name + "mlp.w3");
    if (!config_.is_sparse()) return to;
    if (layer.gates.weight) {
        to.gates = image.linear(w.nodes, w.gates, layer.gates, name + "attn.gated_attention");
    } else {
        to.static_gates = image.floats(layer.gate_rows.data(), 3 * config_.n_head);
    }
    to.q_coarse = coarse(image, layer.q_coarse, name + "attn.q_compress_mlp");
    to.k_coarse = coarse(image, layer.k_coarse, name + "attn.k_compress_mlp");
    to.v_coarse = coarse(image, layer.v_coarse, name + "attn.v_compress_mlp");
    return to;
}

DeviceLayers DeviceWeights::lay_out(DeviceImage& image) const {
    const DeviceWidths& w = widths_;
    const int64_t d = config_.n_axis;
    DeviceLayers to;
    if (config_.features == Features::fourier)
        to.encoding = image.floats(layers_.fourier, config_.n_feature / 2 * d);
    if (config_.features == Features::linear) {
        to.encoding = image.floats(layers_.positions.weight, config_.n_feature * d);
        to.encoding_bias = image.floats(layers_.positions.bias, config_.n_feature);
    }
    for (int64_t i = 0; i < config_.depth; ++i) to.layers.push_back(lay_out(image, i));
    if (!config_.has_ends()) return to;
    to.embedding = image.linear(w.features, w.nodes, layers_.embed, "main_model.embed");
    to.head_in = image.linear(w.nodes, w.nodes, layers_.head1, "pred_head.0");
    to.head_out = image.linear(w.nodes, w.outputs, layers_.head2, "pred_head.2");
    return to;
}

DeviceWeights::DeviceWeights(DeviceContext& context, kernels::Operand operand, const Config& config,
                             const Layers<float>& layers)
    : config_(config),
      layers_(layers),
      widths_(config),
      packed_(context, operand, layers.weights->master(),
              [this](DeviceImage& image) { on_device_ = lay_out(image); }) {}

}  // namespace surrogate::impl::bsa
