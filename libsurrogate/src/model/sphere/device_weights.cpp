// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_weights.hpp"

#include <string>

#include "kernels/sphere/harmonics.hpp"

namespace surrogate::impl::sphere {

using kernels::Linear;
using kernels::plain_channels;

namespace {

std::vector<float> identity(int64_t n) {
    std::vector<float> matrix(static_cast<size_t>(n * n));
    for (int64_t i = 0; i < n; ++i) matrix[static_cast<size_t>(i * n + i)] = 1;
    return matrix;
}

}  // namespace

DeviceWidths::DeviceWidths(const Transformer& config)
    : gathered(plain_channels(config.encoder.n_in * config.encoder.n_basis())),
      points(plain_channels(config.n_channel())),
      hidden(plain_channels(config.use_mlp ? config.n_hidden : config.n_channel())),
      expanded(plain_channels(config.decoder.n_out * config.decoder.n_basis())) {}

/// (channel, row, column or one for all) to a stream.
const float* DeviceWeights::embedding(DeviceImage& image) const {
    if (config_.embedding == Embedding::none) return nullptr;
    const int64_t n = config_.n_channel(), width = widths_.points.width;
    const int64_t n_lat = config_.inner.n_lat, n_lon = config_.inner.n_lon;
    const kernels::sphere::DeviceGrid grid = device_grid(config_.inner, {0, config_.inner.n_lat});
    const DeviceImage::Place place = image.take(device_rows(grid) * width * int64_t{sizeof(float)});
    if (!place.host) return nullptr;
    auto* const to = reinterpret_cast<float*>(place.host);
    const auto fill = [&](const auto& value) {
        for (int64_t row = 0; row < n_lat; ++row) {
            for (int64_t c = 0; c < n; ++c) {
                for (int64_t j = 0; j < n_lon; ++j)
                    to[kernels::fragment_index(grid.row(row, j), c, width)] = value(c, row, j);
            }
        }
    };
    if (const float* const stored = weights_.find("pos_embed.position_embeddings")) {
        const bool is_lat = config_.embedding == Embedding::learnable_lat;
        fill([&](int64_t c, int64_t row, int64_t j) {
            return is_lat ? stored[c * n_lat + row] : stored[(c * n_lat + row) * n_lon + j];
        });
    } else {
        const auto make = config_.embedding == Embedding::spectral
                              ? kernels::sphere::spectral_embedding
                              : kernels::sphere::sequence_embedding;
        const std::vector<float> computed = make(config_.inner, n, 0, n_lat);
        fill([&](int64_t c, int64_t row, int64_t j) {
            return computed[static_cast<size_t>((row * n + c) * n_lon + j)];
        });
    }
    return reinterpret_cast<const float*>(place.device);
}

DeviceBlock DeviceWeights::lay_out_block(DeviceImage& image, int64_t i) const {
    const DeviceWidths& w = widths_;
    const int64_t n = config_.n_channel();
    const std::string name = "blocks." + std::to_string(i) + ".";
    const std::string norm = config_.norm == BlockNorm::layer ? ".norm" : "";
    const auto make_norm = [&](const char* which) {
        if (config_.norm == BlockNorm::none) return kernels::DeviceNorm{};
        constexpr float eps = 1e-6F;  // as on the host
        return image.norm(w.points, weights_.layer_norm(name + which + norm, eps));
    };
    DeviceBlock block;
    block.norm0 = make_norm("norm0");
    block.norm1 = make_norm("norm1");
    block.attention = lay_out_attention(image, weights_, config_.attention, name + "self_attn.");
    if (!config_.use_mlp) {
        const std::vector<float> matrix = identity(n);
        const Linear<float> copy{n, n, matrix.data(), nullptr};
        block.mlp_in = image.linear(w.points, w.hidden, copy, name);
        block.mlp_out = image.linear(w.hidden, w.points, copy, name);
        return block;
    }
    const std::string first = name + "mlp.fwd.0";
    const std::string second = name + (config_.has_dropout() ? "mlp.fwd.3" : "mlp.fwd.2");
    block.mlp_in = image.linear(
        w.points, w.hidden,
        weights_.linear(first + ".weight", first + ".bias", n, config_.n_hidden), first);
    block.mlp_out = image.linear(
        w.hidden, w.points, weights_.linear(second + ".weight", "", config_.n_hidden, n), second);
    return block;
}

DeviceLayers DeviceWeights::lay_out(DeviceImage& image) const {
    const DeviceWidths& w = widths_;
    const int64_t n = config_.n_channel(), n_out = config_.decoder.n_out;
    const int64_t n_basis = config_.decoder.n_basis();
    DeviceLayers to;
    to.encoder = image.linear(
        w.gathered, w.points,
        {w.gathered.n_channel, n, weights_.at("encoder.conv.weight"), nullptr}, "encoder.conv");
    to.embedding = embedding(image);
    for (int64_t i = 0; i < config_.n_layer; ++i) to.blocks.push_back(lay_out_block(image, i));
    // (n_out, n, n_basis) to (n_out, n_basis, n).
    const float* const from = weights_.at("decoder.conv.weight");
    std::vector<float> decoder(static_cast<size_t>(n_out * n_basis * n));
    for (int64_t o = 0; o < n_out; ++o) {
        for (int64_t c = 0; c < n; ++c) {
            for (int64_t k = 0; k < n_basis; ++k)
                decoder[static_cast<size_t>((o * n_basis + k) * n + c)] =
                    from[(o * n + c) * n_basis + k];
        }
    }
    to.decoder = image.linear(w.points, w.expanded, {n, n_out * n_basis, decoder.data(), nullptr},
                              "decoder.conv");
    return to;
}

DeviceWeights::DeviceWeights(DeviceContext& context, kernels::Operand operand,
                             const Transformer& config, const Weights<float>& weights)
    : config_(config),
      weights_(weights),
      widths_(config),
      packed_(context, operand, weights.master(),
              [this](DeviceImage& image) { on_device_ = lay_out(image); }) {}

}  // namespace surrogate::impl::sphere
