// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "kernels/mlp/mlp.hpp"
#include "kernels/norm/norm.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"

namespace surrogate::impl::sequoia {

/// Two linear layers with an activation between them, without residuals.
template <class T>
struct TwoLayers {
    std::array<kernels::Linear<T>, 2> layers;
    kernels::Activation activation = kernels::Activation::gelu;

    kernels::ResidualMlp<T> view() const { return {layers, activation, false, false}; }
};

/// Weights of one layer.
template <class T>
struct LayerWeights {
    kernels::Norm<T> norm1, norm2;
    Derived<T> projections;  ///< rows of W_q, W_k, W_v one after the other, then their biases
    kernels::Linear<T> qkv;  ///< C -> 3 I; queries are multiplied by query_scale()
    kernels::Linear<T> ff;   ///< I -> C
    TwoLayers<T> mlp;
};

/// Returns log2(e) / sqrt(d): scores are exponents of two.
double query_scale(const Config& config);

/// All layers of a Sequoia model in one precision, in the layout that the kernels read.
template <class T>
struct Layers {
    /// Derives the layers from `master`, which must have the names and shapes of layout(config).
    /// Local.
    Layers(const Config& config, std::shared_ptr<const MasterWeights> master);

    /// Returns the weights of layer i; with tied weights all layers have the same weights.
    const LayerWeights<T>& layer(int64_t i) const {
        return layers[layers.size() == 1 ? 0 : static_cast<size_t>(i)];
    }

    Weights<T> weights;
    const T* fourier = nullptr;          ///< (c_in / 2, d)
    kernels::Linear<T> linear_encoding;  ///< d -> c_in
    kernels::Linear<T> embedding;        ///< c_in -> C
    const T* words = nullptr;            ///< (vocab_size, C)
    const T* positions = nullptr;        ///< (max_seq_len, C)
    std::vector<LayerWeights<T>> layers;
    kernels::Norm<T> norm;
    TwoLayers<T> head;
};

}  // namespace surrogate::impl::sequoia
