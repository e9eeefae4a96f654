// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "kernels/hept/hept.hpp"
#include "kernels/mlp/mlp.hpp"
#include "kernels/norm/norm.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/hept/config.hpp"

namespace surrogate::impl::hept {

/// Two affine layers with max(0, u) between them.
template <class T>
struct TwoLayers {
    std::array<kernels::Linear<T>, 2> layers;
    kernels::ResidualMlp<T> view() const {
        return {layers, kernels::Activation::relu, false, false};
    }
};

/// Weights of one head of a layer: the projections that form its rows, and its columns of
/// out_linear.
template <class T>
struct HeadWeights {
    /// scale: specification, section 1.2, computed in double from w_rpe
    kernels::hept::Head<T> head;
    kernels::Linear<T> out;  ///< d -> d: the head's columns of out_linear; only head 0 has a bias
};

/// Weights of one layer.
template <class T>
struct LayerWeights {
    kernels::Norm<T> norm1, norm2;
    std::vector<HeadWeights<T>> heads;  ///< (H)
    TwoLayers<T> ff;
    kernels::Linear<T> states;  ///< d -> m: the columns of W that read the layer's result
    Derived<T> projections;     ///< (H, 3, d, d) w_q, w_k, w_v of each head
    Derived<T> out, states_weight, scales;
    std::vector<float> alpha;  ///< (H, C, E)
};

/// All layers of a HEPT model in one precision, in the layout that the kernels read.
template <class T>
struct Layers {
    /// Derives the layers from `master`, which must have the names and shapes of layout(config).
    /// Local.
    Layers(const Config& config, std::shared_ptr<const MasterWeights> master);

    Weights<T> weights;
    const T* classes = nullptr;  ///< pids_enc (7, 10); pile-up only
    TwoLayers<T> encoder;
    kernels::Linear<T> states;  ///< d -> m: the columns of W that read the encoder's result
    Derived<T> states_weight;
    std::vector<LayerWeights<T>> layers;
    std::array<kernels::Linear<T>, 5> mlp;
    std::array<kernels::Norm<T>, 4> mlp_norm;
    kernels::Linear<T> out;      ///< m -> num_classes; n_out 0: no such layer
    std::vector<float> regions;  ///< (C, 2, H)
};

}  // namespace surrogate::impl::hept
