// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/layers.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

namespace surrogate::impl::sequoia {

namespace {

constexpr double norm_eps = 1e-5;  // PyTorch's LayerNorm

/// Copies a (3 I, C) matrix and 3 I biases together; the rows and biases of the queries are scaled.
template <class T>
struct Projections {
    std::array<kernels::Linear<T>, 3> from;  // q, k, v
    double scale;

    int64_t n_weight() const { return from[0].n_in * from[0].n_out; }
    int64_t size() const { return 3 * (n_weight() + from[0].n_out); }

    void operator()(T* to) const {
        T* bias = to + 3 * n_weight();
        for (size_t which = 0; which < 3; ++which) {
            const auto& layer = from[which];
            const double factor = which == 0 ? scale : 1.0;
            const auto scaled = [&](T w) { return static_cast<T>(w * factor); };
            to = std::transform(layer.weight, layer.weight + n_weight(), to, scaled);
            bias = std::transform(layer.bias, layer.bias + layer.n_out, bias, scaled);
        }
    }
};

template <class T>
LayerWeights<T> make_layer(const Config& config, const Weights<T>& weights,
                           const std::string& name) {
    LayerWeights<T> layer;
    layer.norm1 = weights.layer_norm(name + "norm1", norm_eps);
    layer.norm2 = weights.layer_norm(name + "norm2", norm_eps);
    const Projections<T> projections{
        {weights.linear(name + "mha.W_q"), weights.linear(name + "mha.W_k"),
         weights.linear(name + "mha.W_v")},
        query_scale(config)};
    layer.projections = weights.derive(projections.size(), projections);
    const T* const qkv = layer.projections.data();
    layer.qkv = {config.dim, 3 * config.inner_dim(), qkv, qkv + 3 * projections.n_weight()};
    layer.ff = weights.linear(name + "mha.ff");
    layer.mlp.layers = {weights.linear(name + "mlpblock.0"), weights.linear(name + "mlpblock.3")};
    return layer;
}

}  // namespace

double query_scale(const Config& config) {
    return std::numbers::log2e / std::sqrt(static_cast<double>(config.head_dim));
}

template <class T>
Layers<T>::Layers(const Config& config, std::shared_ptr<const MasterWeights> master)
    : weights(std::move(master)) {
    fourier = weights.find("pos_enc.linear.weight");
    if (config.features == Features::linear) linear_encoding = weights.linear("pos_enc");
    if (config.features == Features::tokens) {
        words = weights.at("model.embeddings.word_embeddings.weight");
        positions = weights.at("model.embeddings.position_embeddings.weight");
    } else {
        embedding = weights.linear("model.embeddings.feature_embeddings");
    }
    for (int64_t i = 0; i < config.n_weight_layer(); ++i)
        layers.push_back(make_layer(config, weights, layer_name(config, i)));
    norm = weights.layer_norm("model.norm", norm_eps);
    head.layers = {weights.linear("seq_classifer.mlpblock.0"),
                   weights.linear("seq_classifer.mlpblock.2")};
    head.activation = kernels::Activation::relu;
}

template struct Layers<float>;
template struct Layers<double>;

}  // namespace surrogate::impl::sequoia
