// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/bsa/bsa.hpp"
#include "kernels/mlp/mlp.hpp"
#include "kernels/mlp/swiglu.hpp"
#include "kernels/norm/norm.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/bsa/config.hpp"

namespace surrogate::impl::bsa {

/// A network that makes one coarse vector of a block of slots: two affine layers with relu between.
template <class T>
struct CoarseMlp {
    std::vector<kernels::Linear<T>> layers;
    Derived<T> scaled;  ///< of queries: it takes and gives scaled ones

    kernels::ResidualMlp<T> view() const {
        return {layers, kernels::Activation::relu, false, false};
    }
};

/// Gates of a tile in the order in which they are used: row 2h the ball, row 2h + 1 the compressed
/// branch of head h, row 2H + h the selected branch.
struct GateRows {
    int64_t n_head;

    int64_t n_row() const { return 3 * n_head; }
    /// Row of `branch` (0 ball, 1 compressed, 2 selected) of a head.
    int64_t row(int64_t head, int64_t branch) const {
        return branch < 2 ? 2 * head + branch : 2 * n_head + head;
    }
};

/// Input of the sigmoid for which a gate is 1: exp(-64) vanishes beside 1, also in double.
constexpr double open_gate = 64;

/// Weights of a layer as the kernels want them. Queries come multiplied by log2(e) / sqrt(D), and
/// with them whatever makes them.
template <class T>
struct LayerWeights {
    kernels::Norm<T> norm1, norm2;
    kernels::Linear<T> position, q, k, v, out;
    Derived<T> qkv;
    Derived<T> sigma;          ///< (H), times log2(e)
    kernels::Linear<T> gates;  ///< GateRows; no weight: static ones
    Derived<T> gate_rows;      ///< of `gates`, or static gates (3H)
    CoarseMlp<T> k_coarse, v_coarse, q_coarse;
    kernels::SwiGlu<T> mlp;
};

/// All layers of a network in one precision.
template <class T>
struct Layers {
    /// `master` has the names and shapes of layout(config).
    Layers(const Config& config, const std::shared_ptr<const MasterWeights>& master);
    /// The same; weights of several stages are one object.
    Layers(const Config& config, std::shared_ptr<const Weights<T>> shared);

    std::shared_ptr<const Weights<T>> weights;
    const T* fourier = nullptr;    ///< (c_in / 2, d)
    kernels::Linear<T> positions;  ///< of linear features
    kernels::Linear<T> embed, head1, head2;
    std::vector<LayerWeights<T>> layers;
};

/// Factor of the queries.
double query_scale(const Config& config);

/// Prefix of the names of a layer's tensors, and of its attention's.
std::string layer_name(const Config& config, int64_t layer);

}  // namespace surrogate::impl::bsa
