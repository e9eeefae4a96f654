// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "kernels/flare/flare.hpp"
#include "kernels/mlp/mlp.hpp"
#include "kernels/norm/norm.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/flare/config.hpp"

namespace surrogate::impl::flare {

/// The layers of a ResidualMLP, in order.
template <class T>
struct MlpWeights {
    std::vector<kernels::Linear<T>> layers;
    kernels::Activation activation = kernels::Activation::gelu_tanh;
    bool residual_in = false, residual_out = false;

    kernels::ResidualMlp<T> view() const { return {layers, activation, residual_in, residual_out}; }
};

/// A transformer block of the latents of an ablation model.
template <class T>
struct LatentBlockWeights {
    kernels::Norm<T> norm1, norm2;
    kernels::Linear<T> qkv_proj, out_proj;
    MlpWeights<T> mlp;
};

template <class T>
struct BlockWeights {
    kernels::Norm<T> norm1, norm2;
    kernels::Norm<T> q_norm, k_norm;  ///< no weight: none
    const T* latent_q = nullptr;      ///< as stored: (H, M, D), or (M, D) for all heads
    std::vector<LatentBlockWeights<T>> latent_blocks;
    /// No weight: k_proj and v_proj take the channels. Otherwise they take the result of this
    /// layer, one head at a time.
    kernels::Linear<T> in_project;
    MlpWeights<T> k_proj, v_proj, ffn;
    kernels::Linear<T> out_proj;
    Derived<T> scaled_queries;  ///< latent queries, normed and scaled, in both orders of `queries`
    kernels::flare::Queries<T> queries;
};

/// Parts of a sequence before and after its blocks; null: it has no such part.
template <class T>
struct SequenceWeights {
    const T* words = nullptr;  ///< (n_word, C)
    const T* position_scale = nullptr;
    const T* positions = nullptr;    ///< (max_length, C)
    const T* class_token = nullptr;  ///< (C)
    kernels::Norm<T> head_norm;
};

/// All layers of a FLARE model in one precision, as the kernels want them.
template <class T>
struct Layers {
    /// Finds the layers in `master`, which has the names and shapes of layout(config).
    Layers(const Config& config, std::shared_ptr<const MasterWeights> master);

    Weights<T> weights;
    MlpWeights<T> in_proj, out_proj;
    kernels::Norm<T> out_norm;
    std::vector<BlockWeights<T>> blocks;
    SequenceWeights<T> sequence;
    const T* time_frequencies = nullptr;  ///< (C / 2); null: the time is not an input
    MlpWeights<T> time_fc;
};

}  // namespace surrogate::impl::flare
