// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/layers.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace surrogate::impl::hept {

namespace {

constexpr double norm_eps = 1e-5;  // PyTorch's LayerNorm
constexpr double clamp = 50;       // upper bound of exponents in the scales

using kernels::Linear;

/// Copies columns first .. first + n - 1 of `layer`, whose weight is (n_out, n_in), to the matrix
/// `to`.
template <class T>
void copy_columns(const Linear<T>& layer, int64_t first, int64_t n, T* to) {
    for (int64_t o = 0; o < layer.n_out; ++o)
        to = std::copy_n(layer.weight + o * layer.n_in + first, n, to);
}

/// Derives (H, 3, d, d): for each head its rows of the three projections.
template <class T>
Derived<T> derive_projections(const Config& config, const Weights<T>& weights,
                              const std::string& name) {
    const int64_t n = config.h_dim * config.h_dim, n_head = config.num_heads;
    const std::array<const T*, 3> from = {weights.at(name + "w_q.weight"),
                                          weights.at(name + "w_k.weight"),
                                          weights.at(name + "w_v.weight")};
    return weights.derive(3 * n * n_head, [from, n, n_head](T* to) {
        for (int64_t h = 0; h < n_head; ++h)
            for (const T* matrix : from) to = std::copy_n(matrix + h * n, n, to);
    });
}

/// Derives n_part parts of the columns of `layer`, d columns each: (n_part, n_out, d).
template <class T>
Derived<T> derive_columns(const Weights<T>& weights, const Linear<T>& layer, int64_t first,
                          int64_t n_part, int64_t d) {
    return weights.derive(n_part * layer.n_out * d, [=](T* to) {
        for (int64_t part = 0; part < n_part; ++part)
            copy_columns(layer, first + part * d, d, to + part * layer.n_out * d);
    });
}

/// Derives s (H, D). With wbar(r, k) the sum of w_rpe.weight over the d rows of a head:
///   s(r + 1) = sqrt(2 sum_k exp(min(wbar(r, k), 50))),   s(0) = s(1)
template <class T>
Derived<T> derive_scales(const Config& config, const Weights<T>& weights, const std::string& name) {
    const T* const w = weights.at(name + "w_rpe.weight");
    const int64_t n_head = config.num_heads, d = config.h_dim, n_k = config.num_w_per_dist;
    const int64_t n_axis = config.coords_dim, n_column = n_k * (n_axis - 1);
    return weights.derive(n_head * n_axis, [=](T* s) {
        for (int64_t h = 0; h < n_head; ++h, s += n_axis) {
            for (int64_t r = 0; r < n_axis - 1; ++r) {
                double omega = 0;
                for (int64_t k = 0; k < n_k; ++k) {
                    double sum = 0;
                    for (int64_t i = 0; i < d; ++i)
                        sum += static_cast<double>(w[(h * d + i) * n_column + r * n_k + k]);
                    omega += std::exp(std::min(sum, clamp));
                }
                s[r + 1] = static_cast<T>(std::sqrt(2 * omega));
            }
            s[0] = s[1];
        }
    });
}

/// Returns a table of numbers that training does not change, as stored in the file.
template <class T>
std::vector<float> stored(const Weights<T>& weights, const std::string& name) {
    const MasterWeights::Entry& entry = *weights.master().find(name);
    const auto values = weights.master().values().subspan(static_cast<size_t>(entry.first),
                                                          static_cast<size_t>(entry.size));
    return {values.begin(), values.end()};
}

/// Transposes (H, E, C), as stored, to (H, C, E).
template <class T>
std::vector<float> projections_of_hashes(const Config& config, const Weights<T>& weights,
                                         const std::string& name) {
    const std::vector<float> from = stored(weights, name);
    const auto n_head = static_cast<size_t>(config.num_heads);
    const auto n_e = static_cast<size_t>(config.n_query());
    const auto n_table = static_cast<size_t>(config.n_hashes);
    std::vector<float> alpha(from.size());
    for (size_t h = 0; h < n_head; ++h)
        for (size_t e = 0; e < n_e; ++e)
            for (size_t c = 0; c < n_table; ++c)
                alpha[(h * n_table + c) * n_e + e] = from[(h * n_e + e) * n_table + c];
    return alpha;
}

/// Sets the heads of a layer from its derived weights.
template <class T>
void set_heads(const Config& config, const Linear<T>& out, LayerWeights<T>& layer) {
    const int64_t d = config.h_dim, n_table = config.n_hashes;
    for (int64_t h = 0; h < config.num_heads; ++h) {
        HeadWeights<T> head;
        head.head.shape = {d, config.coords_dim};
        head.head.qkv = {d, 3 * d, layer.projections.data() + h * 3 * d * d, nullptr};
        head.head.scale = layer.scales.data() + h * config.coords_dim;
        head.head.alpha = layer.alpha.data() + h * n_table * config.n_query();
        head.head.n_table = n_table;
        head.out = {d, d, layer.out.data() + h * d * d, h == 0 ? out.bias : nullptr};
        layer.heads.push_back(head);
    }
}

template <class T>
LayerWeights<T> make_layer(const Config& config, const Weights<T>& weights, int64_t i,
                           const Linear<T>& states) {
    const std::string name = layer_name(i);
    const int64_t d = config.h_dim;
    LayerWeights<T> layer;
    layer.norm1 = weights.layer_norm(name + "norm1", norm_eps);
    layer.norm2 = weights.layer_norm(name + "norm2", norm_eps);
    layer.ff.layers = {weights.linear(name + "ff.0"), weights.linear(name + "ff.2")};
    layer.projections = derive_projections(config, weights, name);
    layer.scales = derive_scales(config, weights, name);
    layer.alpha = projections_of_hashes(config, weights, name + "attn.e2lsh.alpha");
    const Linear<T> out = weights.linear(name + "attn.out_linear");
    layer.out = derive_columns(weights, out, 0, config.num_heads, d);
    set_heads(config, out, layer);
    layer.states_weight = derive_columns(weights, states, (i + 1) * d, 1, d);
    layer.states = {d, config.n_embedding(), layer.states_weight.data(), nullptr};
    return layer;
}

}  // namespace

template <class T>
Layers<T>::Layers(const Config& config, std::shared_ptr<const MasterWeights> master)
    : weights(std::move(master)) {
    const int64_t d = config.h_dim, m = config.n_embedding();
    classes = weights.find("pids_enc.weight");
    encoder.layers = {weights.linear("feat_encoder.0"), weights.linear("feat_encoder.2")};
    const Linear<T> all_states = weights.linear("W.weight", "", d * (config.n_layers + 1), m);
    states_weight = derive_columns(weights, all_states, 0, 1, d);
    states = {d, m, states_weight.data(), nullptr};
    layers.reserve(static_cast<size_t>(config.n_layers));
    for (int64_t i = 0; i < config.n_layers; ++i)
        layers.push_back(make_layer(config, weights, i, all_states));
    for (size_t i = 0; i < mlp.size(); ++i)
        mlp[i] = weights.linear("mlp_out.lins." + std::to_string(i));
    for (size_t i = 0; i < mlp_norm.size(); ++i)
        mlp_norm[i] = weights.layer_norm("mlp_out.norms." + std::to_string(i), norm_eps);
    if (config.num_classes > 0) out = weights.linear("out_proj");
    regions = stored(weights, "regions");
}

template struct Layers<float>;
template struct Layers<double>;

}  // namespace surrogate::impl::hept
