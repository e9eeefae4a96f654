// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/weights.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::Linear;
using kernels::Norm;
using kernels::NormKind;

namespace {

/// Finds tensors by name and hands out their numbers as T.
template <class T>
class Source {
public:
    Source(std::span<const Tensor> tensors, std::vector<Buffer<T>>& storage) : storage_(storage) {
        for (const Tensor& tensor : tensors) by_name_[tensor.entry.name] = &tensor;
    }

    const T* data(const std::string& name) {
        const std::span<const float> values = by_name_.at(name)->floats();
        if constexpr (std::is_same_v<T, float>) {
            return values.data();
        } else {
            Buffer<T>& copy = storage_.emplace_back(std::ssize(values));
            for (size_t i = 0; i < values.size(); ++i) copy[static_cast<int64_t>(i)] = values[i];
            return copy.data();
        }
    }
    const std::vector<int64_t>& shape(const std::string& name) const {
        return by_name_.at(name)->entry.shape;
    }

    Linear<T> linear(const std::string& name) {
        const std::vector<int64_t>& s = shape(name + ".weight");
        return {s[1], s[0], data(name + ".weight"), data(name + ".bias")};
    }

    Norm<T> norm(const std::string& name, bool rms) {
        // PyTorch's RMSNorm takes the machine epsilon of its type, LayerNorm 1e-5.
        if (rms)
            return {NormKind::rms, std::numeric_limits<T>::epsilon(), data(name + ".weight"),
                    nullptr};
        return {NormKind::layer, T(1e-5), data(name + ".weight"), data(name + ".bias")};
    }

    MlpWeights<T> mlp(const std::string& name, const MlpShape& mlp_shape,
                      kernels::Activation activation) {
        MlpWeights<T> mlp{{}, activation, mlp_shape.residual_in, mlp_shape.residual_out};
        if (mlp_shape.n_inner < 0) {
            mlp.layers.push_back(linear(name + ".fc"));
            return mlp;
        }
        mlp.layers.push_back(linear(name + ".fc1"));
        for (int i = 0; i < mlp_shape.n_inner; ++i)
            mlp.layers.push_back(linear(name + ".fcs." + std::to_string(i)));
        mlp.layers.push_back(linear(name + ".fc2"));
        return mlp;
    }

private:
    std::map<std::string, const Tensor*> by_name_;
    std::vector<Buffer<T>>& storage_;
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
/// orders of the mixer.
template <class T>
void set_queries(const Config& config, const T* latent_q, const Norm<T>* q_norm,
                 BlockWeights<T>& block) {
    const kernels::flare::Sizes sizes{config.num_heads, config.num_latents, config.head_dim()};
    const int64_t n_dim = sizes.n_dim;
    block.q_by_latent = Buffer<T>(sizes.n_head * sizes.n_latent * n_dim);
    block.q_by_dim = Buffer<T>(sizes.n_head * n_dim * sizes.n_row());
    std::vector<double> row(static_cast<size_t>(n_dim));
    const double scale = config.attn_scale * std::numbers::log2e;
    for (int64_t head = 0; head < sizes.n_head; ++head) {
        for (int64_t m = 0; m < sizes.n_latent; ++m) {
            const int64_t first = (head * sizes.n_latent + m) * n_dim;
            for (int64_t d = 0; d < n_dim; ++d) row[static_cast<size_t>(d)] = latent_q[first + d];
            if (q_norm) normalise_row(*q_norm, n_dim, row.data());
            for (int64_t d = 0; d < n_dim; ++d) {
                const T q = static_cast<T>(row[static_cast<size_t>(d)] * scale);
                block.q_by_latent[first + d] = q;
                block.q_by_dim[(head * n_dim + d) * sizes.n_row() + m] = q;
            }
        }
    }
    block.queries = {sizes, block.q_by_latent.data(), block.q_by_dim.data()};
}

template <class T>
BlockWeights<T> make_block(const Config& config, const std::string& name, Source<T>& source) {
    BlockWeights<T> block;
    block.norm1 = source.norm(name + ".norm1", config.rmsnorm);
    block.norm2 = source.norm(name + ".norm2", config.rmsnorm);
    block.k_proj = source.mlp(name + ".att.k_proj", config.k_proj, config.activation);
    block.v_proj = source.mlp(name + ".att.v_proj", config.v_proj, config.activation);
    block.ffn = source.mlp(name + ".mlp", config.ffn, config.activation);
    block.out_proj = source.linear(name + ".att.out_proj");
    Norm<T> q_norm;
    if (config.qk_norm) {
        q_norm = source.norm(name + ".att.q_norm", config.rmsnorm);
        block.k_norm = source.norm(name + ".att.k_norm", config.rmsnorm);
    }
    set_queries(config, source.data(name + ".att.latent_q"), config.qk_norm ? &q_norm : nullptr,
                block);
    return block;
}

}  // namespace

template <class T>
Weights<T> make_weights(const Config& config, std::span<const Tensor> tensors) {
    Weights<T> weights;
    Source<T> source(tensors, weights.storage);
    weights.in_proj = source.mlp("in_proj", config.in_proj, config.activation);
    for (int64_t i = 0; i < config.num_blocks; ++i) {
        weights.blocks.push_back(make_block(config, "blocks." + std::to_string(i), source));
    }
    if (config.out_proj_norm) weights.out_norm = source.norm("out_proj.0", config.rmsnorm);
    weights.out_proj = source.mlp("out_proj.1", config.out_proj, config.activation);
    return weights;
}

template Weights<float> make_weights(const Config&, std::span<const Tensor>);
template Weights<double> make_weights(const Config&, std::span<const Tensor>);

}  // namespace surrogate::impl::flare
