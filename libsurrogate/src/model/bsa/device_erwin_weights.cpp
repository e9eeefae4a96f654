// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/device_erwin_weights.hpp"

#include <algorithm>

#include "kernels/bsa/bsa_device.hpp"
#include "libsurrogate/src/model/family/device_limits.hpp"

namespace surrogate::impl::bsa::erwin {

using kernels::DeviceChannels;
using kernels::Linear;
using kernels::plain_channels;

namespace {

/// Returns n channels in each of two halves of a row, or in the first half only.
DeviceChannels halves(int64_t n, int64_t n_half) {
    const int64_t width = plain_channels(n).width;
    return {n_half * n, n, width, 2 * width};
}

/// Copies columns first .. first + n - 1 of a layer, row by row.
std::vector<float> columns(const Linear<float>& layer, int64_t first, int64_t n, int64_t n_padded) {
    std::vector<float> list(static_cast<size_t>(n_padded * n));
    for (int64_t r = 0; r < layer.n_out; ++r)
        std::copy_n(layer.weight + r * layer.n_in + first, n, &list[static_cast<size_t>(r * n)]);
    return list;
}

}  // namespace

void require_device_sizes(const Config& config) {
    for (const auto* stages : {&config.encoders, &config.decoders})
        for (const bsa::Config& stage : *stages)
            require_at_most_on_device(Config::family, "channels of a head", stage.head_dim(),
                                      kernels::bsa::largest_head);
    if (config.n_step > 0)
        require_at_most_on_device(Config::family, "channels of messages (c_hidden[0])",
                                  config.width.front(), kernels::bsa::largest_message);
}

DeviceChannels DeviceWeights::pooled(size_t level) const {
    return plain_channels(config_.strides[level] * (config_.width[level] + config_.n_axis));
}
DeviceChannels DeviceWeights::unpooled(size_t level) const {
    return plain_channels(config_.width[level + 1] + config_.strides[level] * config_.n_axis);
}
DeviceChannels DeviceWeights::children(size_t level) const {
    return plain_channels(config_.strides[level] * config_.width[level]);
}

DeviceStep DeviceWeights::step(DeviceImage& image, size_t index) const {
    const StepWeights<float>& from = layers_.steps[index];
    const std::string message = message_name(config_, static_cast<int64_t>(index)) + "0";
    const int64_t c = config_.width.front(), d = config_.n_axis, width = nodes_[0].width;
    std::vector<float> parts = columns(from.message, 0, c, c);
    const std::vector<float> of_target = columns(from.message, c, c, c);
    parts.insert(parts.end(), of_target.begin(), of_target.end());
    const std::vector<float> no_bias(static_cast<size_t>(2 * c));
    const Linear<float> at_points{c, 2 * c, parts.data(), no_bias.data()};
    DeviceStep to;
    to.parts = image.linear(halves(c, 1), pair_, at_points, message);
    to.position = image.floats(columns(from.message, 2 * c, d, width).data(), width * d);
    to.position_bias = image.vector(nodes_[0], from.message.bias);
    to.update = image.linear(pair_, nodes_[0], from.update,
                             update_name(config_, static_cast<int64_t>(index)) + "0");
    to.message_norm = image.norm(nodes_[0], from.message_norm);
    to.update_norm = image.norm(nodes_[0], from.update_norm);
    return to;
}

DeviceWay DeviceWeights::way(DeviceImage& image, size_t level) const {
    const auto number = static_cast<int64_t>(level);
    DeviceWay to;
    if (config_.strides[level] > 1)
        to.pool = image.linear(pooled(level), nodes_[level + 1], layers_.pools[level].linear,
                               pool_name(config_, number) + "proj");
    to.unpool = image.linear(unpooled(level), children(level), layers_.unpools[level].linear,
                             unpool_name(config_, number) + "proj");
    to.scale = image.vector(nodes_[level], layers_.unpools[level].scale);
    return to;
}

void DeviceWeights::lay_out(DeviceImage& image) {
    const int64_t n_feature = config_.n_feature, d = config_.n_axis;
    if (config_.features == Features::fourier)
        encoding_ = image.floats(layers_.fourier, n_feature / 2 * d);
    if (config_.features == Features::linear) {
        encoding_ = image.floats(layers_.positions.weight, n_feature * d);
        encoding_bias_ = image.floats(layers_.positions.bias, n_feature);
    }
    embedding_ = image.linear(features(), halves(config_.width.front(), 1), layers_.embed,
                              embed_name(config_));
    if (config_.has_head()) {
        const bsa::Layers<float>& last =
            layers_.decoders.empty() ? *layers_.encoders.back() : *layers_.decoders.front();
        head_in_ = image.linear(nodes_[0], nodes_[0], last.head1, "pred_head.0");
        head_out_ = image.linear(nodes_[0], outputs(), last.head2, "pred_head.2");
    }
    steps_.clear();
    ways_.clear();
    for (size_t t = 0; t < layers_.steps.size(); ++t) steps_.push_back(step(image, t));
    for (size_t l = 0; l < config_.strides.size(); ++l) ways_.push_back(way(image, l));
}

namespace {

std::vector<DeviceChannels> levels_of(const Config& config) {
    std::vector<DeviceChannels> list;
    for (const int64_t width : config.width) list.push_back(plain_channels(width));
    return list;
}

std::vector<std::unique_ptr<const bsa::DeviceWeights>> stages_of(
    DeviceContext& context, kernels::Operand operand, const std::vector<bsa::Config>& configs,
    const std::vector<std::unique_ptr<const bsa::Layers<float>>>& layers) {
    std::vector<std::unique_ptr<const bsa::DeviceWeights>> list;
    for (size_t l = 0; l < configs.size(); ++l) {
        list.emplace_back();
        if (configs[l].depth == 0) continue;
        list.back() =
            std::make_unique<const bsa::DeviceWeights>(context, operand, configs[l], *layers[l]);
    }
    return list;
}

}  // namespace

DeviceWeights::DeviceWeights(DeviceContext& context, kernels::Operand operand, const Config& config,
                             const Layers<float>& layers)
    : config_(config),
      layers_(layers),
      nodes_(levels_of(config)),
      pair_(halves(config.width.front(), 2)),
      encoders_(stages_of(context, operand, config.encoders, layers.encoders)),
      decoders_(stages_of(context, operand, config.decoders, layers.decoders)),
      packed_(context, operand, layers.weights->master(),
              [this](DeviceImage& image) { lay_out(image); }) {}

int64_t DeviceWeights::bytes() const {
    int64_t n_byte = packed_.bytes();
    for (const auto* stages : {&encoders_, &decoders_})
        for (const auto& stage : *stages)
            if (stage) n_byte += stage->bytes();
    return n_byte;
}

}  // namespace surrogate::impl::bsa::erwin
