// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_segformer_weights.hpp"

#include <string>

namespace surrogate::impl::sphere {

using kernels::DeviceLinear;
using kernels::plain_channels;

namespace {

constexpr float segformer_norm_eps = 1e-5F;  // as on the host

std::string block_name(size_t i) {
    return "blocks." + std::to_string(i) + ".";
}

}  // namespace

int64_t SegformerWeights::n_expanded(const Segformer& config, size_t i) {
    const Convolution& upsample = config.levels[i].upsample;
    return config.n_out * (config.upsamples_by_convolution ? upsample.n_basis() : 1);
}

DeviceRepetition SegformerWeights::lay_out_repetition(DeviceImage& image, size_t i,
                                                      int64_t j) const {
    const SegformerLevel& level = config_.levels[i];
    const int64_t n = level.n_channel();
    const kernels::DeviceChannels points = plain_channels(n);
    const std::string attention = block_name(i) + "fwd." + std::to_string(1 + 2 * j) + ".";
    const std::string feed = block_name(i) + "fwd." + std::to_string(2 + 2 * j) + ".";
    const auto layer = [&](const std::string& name) {
        return image.linear(points, points, weights_.linear(name + ".weight", name + ".bias", n, n),
                            name);
    };
    DeviceRepetition to;
    to.attention_norm =
        image.norm(points, weights_.layer_norm(attention + "norm", segformer_norm_eps));
    to.mix_norm = image.norm(points, weights_.layer_norm(feed + "norm", segformer_norm_eps));
    to.attention = lay_out_attention(image, weights_, level.attention, attention + "att.");
    to.mlp_in = layer(feed + "mlp_in");
    to.mlp_out = layer(feed + "mlp_out");
    to.mix = image.floats(weights_.at(feed + "conv.weight"), n * level.mix.n_basis());
    return to;
}

/// (n_out, n), this level's columns; times the weights of the convolution, summed over the
/// upsampled channels, (n_out, n_basis, n).
DeviceLinear SegformerWeights::head(DeviceImage& image, size_t i) const {
    const int64_t n = config_.levels[i].n_channel(), n_out = config_.n_out;
    int64_t first = 0, n_all = 0;
    for (size_t j = 0; j < config_.levels.size(); ++j) {
        if (j < i) first += config_.levels[j].n_channel();
        n_all += config_.levels[j].n_channel();
    }
    const float* const all = weights_.at("segmentation_head.weight");
    const bool has_convolution = config_.upsamples_by_convolution;
    const int64_t n_basis = has_convolution ? config_.levels[i].upsample.n_basis() : 1;
    const float* const upsample =
        has_convolution ? weights_.at("upsamplers." + std::to_string(i) + ".upsample.weight")
                        : nullptr;
    std::vector<float> matrix;
    for (int64_t o = 0; o < n_out; ++o) {
        const float* const own = all + o * n_all + first;
        for (int64_t k = 0; k < n_basis; ++k) {
            for (int64_t c = 0; c < n; ++c) {
                double sum = upsample ? 0 : static_cast<double>(own[c]);
                for (int64_t u = 0; upsample && u < n; ++u)
                    sum += static_cast<double>(own[u]) *
                           static_cast<double>(upsample[(u * n + c) * n_basis + k]);
                matrix.push_back(static_cast<float>(sum));
            }
        }
    }
    const int64_t n_expanded = n_out * n_basis;
    return image.linear(plain_channels(n), plain_channels(n_expanded),
                        {n, n_expanded, matrix.data(), nullptr}, "segmentation_head");
}

DeviceLevel SegformerWeights::lay_out(DeviceImage& image, size_t i) const {
    const SegformerLevel& level = config_.levels[i];
    const int64_t n = level.n_channel(), n_gathered = level.merge.n_in * level.merge.n_basis();
    const kernels::DeviceChannels points = plain_channels(n);
    const std::string merge = block_name(i) + "fwd.0.";
    DeviceLevel to;
    to.merge =
        image.linear(plain_channels(n_gathered), points,
                     {n_gathered, n, weights_.at(merge + "conv.weight"), nullptr}, merge + "conv");
    to.merge_norm = image.norm(points, weights_.layer_norm(merge + "norm", segformer_norm_eps));
    to.norm = image.norm(points, weights_.layer_norm(block_name(i) + "norm", segformer_norm_eps));
    for (int64_t j = 0; j < level.depth; ++j)
        to.repetitions.push_back(lay_out_repetition(image, i, j));
    const std::string mlp = "upsamplers." + std::to_string(i) + ".mlp";
    to.mlp =
        image.linear(points, points, weights_.linear(mlp + ".weight", mlp + ".bias", n, n), mlp);
    to.head = head(image, i);
    return to;
}

SegformerWeights::SegformerWeights(DeviceContext& context, kernels::Operand operand,
                                   const Segformer& config, const Weights<float>& weights)
    : config_(config),
      weights_(weights),
      packed_(context, operand, weights.master(), [this](DeviceImage& image) {
          levels_.clear();
          for (size_t i = 0; i < config_.levels.size(); ++i) levels_.push_back(lay_out(image, i));
          bias_ = image.floats(weights_.at("segmentation_head.bias"), config_.n_out);
      }) {}

}  // namespace surrogate::impl::sphere
