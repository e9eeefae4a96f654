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

/// One head of a layer: what makes its rows, and its share of out_linear.
template <class T>
struct HeadWeights {
    kernels::hept::Head<T> head;  ///< scale: section 1.2, formed in double from w_rpe
    kernels::Linear<T> out;       ///< d -> d: the head's columns of out_linear; bias in head 0 only
};

template <class T>
struct LayerWeights {
    kernels::Norm<T> norm1, norm2;
    std::vector<HeadWeights<T>> heads;  ///< (H)
    TwoLayers<T> ff;
    kernels::Linear<T> states;  ///< d -> m: the columns of W that belong to the layer's result
    Derived<T> projections;     ///< (H, 3, d, d) w_q, w_k, w_v of each head
    Derived<T> out, states_weight, scales;
    std::vector<float> alpha;  ///< (H, C, E)
};

/// All layers of a HEPT model in one precision, as the kernels want them.
template <class T>
struct Layers {
    /// `master` has the names and shapes of layout(config).
    Layers(const Config& config, std::shared_ptr<const MasterWeights> master);

    Weights<T> weights;
    const T* classes = nullptr;  ///< pids_enc (7, 10); pile-up only
    TwoLayers<T> encoder;
    kernels::Linear<T> states;  ///< d -> m: the columns of W for the encoder's result
    Derived<T> states_weight;
    std::vector<LayerWeights<T>> layers;
    std::array<kernels::Linear<T>, 5> mlp;
    std::array<kernels::Norm<T>, 4> mlp_norm;
    kernels::Linear<T> out;      ///< m -> num_classes; n_out 0: none
    std::vector<float> regions;  ///< (C, 2, H)
};

}  // namespace surrogate::impl::hept
