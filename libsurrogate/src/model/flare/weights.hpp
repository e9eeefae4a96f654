// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/flare/flare.hpp"
#include "kernels/mlp/mlp.hpp"
#include "kernels/norm/norm.hpp"
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

template <class T>
struct BlockWeights {
    kernels::Norm<T> norm1, norm2, k_norm;
    MlpWeights<T> k_proj, v_proj, ffn;
    kernels::Linear<T> out_proj;
    kernels::Buffer<T> q_by_latent,
        q_by_dim;  ///< latent queries, normed and scaled, see kernels::flare::Queries
    kernels::flare::Queries<T> queries;
};

/// All weights of a FLARE model in one precision, as the kernels want them.
template <class T>
struct Weights {
    std::vector<kernels::Buffer<T>>
        storage;  ///< converted copies; empty if T is the file's own type
    MlpWeights<T> in_proj, out_proj;
    kernels::Norm<T> out_norm;
    std::vector<BlockWeights<T>> blocks;
};

/// `tensors` must have the names and shapes of layout(config), stay alive for float, and are
/// copied for double.
template <class T>
Weights<T> make_weights(const Config& config, std::span<const Tensor> tensors);

}  // namespace surrogate::impl::flare
