// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/layers.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

namespace surrogate::impl::flare {

using kernels::Norm;
using kernels::NormKind;

namespace {

/// Layers by name.
template <class T>
class Source {
public:
    Source(const Config& config, const Weights<T>& weights) : config_(config), weights_(weights) {}

    const Weights<T>& weights() const { return weights_; }

    Norm<T> norm(const std::string& name) const {
        // PyTorch's RMSNorm takes the machine epsilon of its type, LayerNorm 1e-5.
        if (!config_.rmsnorm) return weights_.layer_norm(name, 1e-5);
        return {NormKind::rms, std::numeric_limits<T>::epsilon(), weights_.at(name + ".weight"),
                nullptr};
    }

    MlpWeights<T> mlp(const std::string& name, const MlpShape& shape) const {
        return mlp(name, shape, config_.activation);
    }
    MlpWeights<T> mlp(const std::string& name, const MlpShape& shape,
                      kernels::Activation activation) const {
        MlpWeights<T> mlp{{}, activation, shape.residual_in, shape.residual_out};
        for (int64_t j = 0; j < shape.n_layer(); ++j)
            mlp.layers.push_back(weights_.linear(layer_name(name, shape, j)));
        return mlp;
    }

    /// Embedding of a sequence: one layer, or two with PyTorch's GELU between.
    MlpWeights<T> head(const TensorNames& names) const {
        MlpWeights<T> head{{}, kernels::Activation::gelu, false, false};
        if (config_.out_proj.n_inner < 0) {
            head.layers.push_back(weights_.linear(names.out_proj));
        } else {
            for (const std::string& name : names.out_proj_layers)
                head.layers.push_back(weights_.linear(name));
        }
        return head;
    }

    LatentBlockWeights<T> latent_block(const std::string& name) const {
        LatentBlockWeights<T> block;
        block.norm1 = weights_.layer_norm(name + ".norm1", 1e-5);
        block.norm2 = weights_.layer_norm(name + ".norm2", 1e-5);
        block.qkv_proj = weights_.linear(name + ".att.qkv_proj");
        block.out_proj = weights_.linear(name + ".att.out_proj");
        block.mlp = {{weights_.linear(name + ".mlp.fc1"), weights_.linear(name + ".mlp.fc2")},
                     kernels::Activation::gelu,
                     false,
                     false};
        return block;
    }

private:
    const Config& config_;
    const Weights<T>& weights_;
};

/// One query row (n) through its norm, in double.
template <class T>
void normalise_row(const Norm<T>& norm, int64_t n, double* row) {
    double mean = 0, square = 0;
    const bool layer = norm.kind == NormKind::layer;
    for (int64_t d = 0; d < n && layer; ++d) mean += row[d] / static_cast<double>(n);
    for (int64_t d = 0; d < n; ++d)
        square += (row[d] - mean) * (row[d] - mean) / static_cast<double>(n);
    const double scale = 1 / std::sqrt(square + norm.eps);
    for (int64_t d = 0; d < n; ++d) {
        row[d] = (row[d] - mean) * scale * norm.weight[d] + (norm.bias ? norm.bias[d] : T(0));
    }
}

/// latent_q (C, M), a memory view of (H, M, D): normed, times attn_scale * log2(e), in the two
/// orders of the mixer, (H, M, D) and (H, D, n_row). Shared by all heads it is (D, M), a view of
/// (M, D).
template <class T>
struct ScaledQueries {
    kernels::flare::Sizes sizes;
    bool is_shared;
    double scale;
    const T* latent_q;
    Norm<T> norm;  // no weight: none
    // A refresh takes no memory: steps of a training refresh.
    mutable std::vector<double> row = std::vector<double>(static_cast<size_t>(sizes.n_dim));

    int64_t by_latent_size() const {
        return kernels::round_up(sizes.n_head * sizes.n_latent * sizes.n_dim, 16);
    }
    int64_t size() const { return by_latent_size() + sizes.n_head * sizes.n_dim * sizes.n_row(); }

    void operator()(T* to) const {
        const int64_t n_dim = sizes.n_dim;
        for (int64_t i = 0; i < sizes.n_head * sizes.n_latent; ++i) {
            const int64_t head = i / sizes.n_latent, m = i % sizes.n_latent, first = i * n_dim;
            const T* const from = latent_q + (is_shared ? m * n_dim : first);
            for (int64_t d = 0; d < n_dim; ++d) row[static_cast<size_t>(d)] = from[d];
            if (norm.weight) normalise_row(norm, n_dim, row.data());
            T* const by_dim = to + by_latent_size() + head * n_dim * sizes.n_row() + m;
            for (int64_t d = 0; d < n_dim; ++d) {
                const T q = static_cast<T>(row[static_cast<size_t>(d)] * scale);
                to[first + d] = q;
                by_dim[d * sizes.n_row()] = q;
            }
        }
    }
};

template <class T>
void set_queries(const Config& config, const Weights<T>& weights, BlockWeights<T>& block) {
    const ScaledQueries<T> scaled{{config.num_heads, config.num_latents, config.head_dim()},
                                  config.shared_latents,
                                  config.attn_scale * std::numbers::log2e,
                                  block.latent_q,
                                  block.q_norm};
    block.scaled_queries = weights.derive(scaled.size(), scaled);
    const T* const queries = block.scaled_queries.data();
    block.queries = {scaled.sizes, queries, queries + scaled.by_latent_size()};
}

template <class T>
BlockWeights<T> make_block(const Config& config, const std::string& name, const Source<T>& source) {
    BlockWeights<T> block;
    const auto names = names_of(config).block;
    block.norm1 = source.norm(name + "." + names.norm1);
    block.norm2 = source.norm(name + "." + names.norm2);
    if (!names.in_project.empty())
        block.in_project = source.weights().linear(name + "." + names.in_project);
    block.k_proj = source.mlp(name + "." + names.k_proj, config.k_proj);
    block.v_proj = source.mlp(name + "." + names.v_proj, config.v_proj);
    block.ffn = source.mlp(name + "." + names.ffn, config.ffn);
    block.out_proj = source.weights().linear(name + "." + names.out_proj);
    if (config.qk_norm) {
        block.q_norm = source.norm(name + ".att.q_norm");
        block.k_norm = source.norm(name + ".att.k_norm");
    }
    block.latent_q = source.weights().at(name + "." + names.latent_q);
    set_queries(config, source.weights(), block);
    for (int64_t j = 0; j < config.num_latent_blocks; ++j)
        block.latent_blocks.push_back(
            source.latent_block(name + ".att.latent_blocks." + std::to_string(j)));
    return block;
}

template <class T>
SequenceWeights<T> make_sequence(const Config& config, const Source<T>& source) {
    const Weights<T>& weights = source.weights();
    SequenceWeights<T> sequence;
    sequence.words = weights.at("token_emb.token_embed.weight");
    sequence.class_token = weights.find("cls_token");
    sequence.position_scale = weights.find("pos_emb.pos_scale");
    sequence.positions = weights.find("pos_emb.pe.weight");
    if (config.out_proj_norm) sequence.head_norm = source.norm("cls_proj.1");
    return sequence;
}

}  // namespace

template <class T>
Layers<T>::Layers(const Config& config, std::shared_ptr<const MasterWeights> master)
    : weights(std::move(master)) {
    const Source<T> source(config, weights);
    const TensorNames names = names_of(config);
    for (int64_t i = 0; i < config.num_blocks; ++i)
        blocks.push_back(make_block(config, "blocks." + std::to_string(i), source));
    if (config.out_proj_norm) out_norm = source.norm(names.out_norm);
    if (config.is_sequence()) {
        sequence = make_sequence(config, source);
        out_proj = source.head(names);
    } else {
        in_proj = source.mlp(names.in_proj, config.in_proj);
        out_proj = source.mlp(names.out_proj, config.out_proj);
    }
    if (config.physicsnemo.time_input) {
        time_frequencies = weights.at("time_embed.freqs");
        time_fc = source.mlp("time_fc", config.physicsnemo.time_fc, kernels::Activation::silu);
    }
}

template struct Layers<float>;
template struct Layers<double>;

}  // namespace surrogate::impl::flare
