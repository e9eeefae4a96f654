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

/// Network that computes one coarse vector of a block of slots: two affine layers with relu between
/// them.
template <class T>
struct CoarseMlp {
    std::vector<kernels::Linear<T>> layers;
    Derived<T> scaled;  ///< for queries: reads and returns scaled queries

    kernels::ResidualMlp<T> view() const {
        return {layers, kernels::Activation::relu, false, false};
    }
};

/// Order of the gates of a tile, by their use: row 2h is the gate of the ball branch and row 2h + 1
/// the gate of the compressed branch of head h, row 2H + h the gate of its selected branch.
struct GateRows {
    int64_t n_head;

    int64_t n_row() const { return 3 * n_head; }
    /// Returns the row of `branch` (0 ball, 1 compressed, 2 selected) of a head.
    int64_t row(int64_t head, int64_t branch) const {
        return branch < 2 ? 2 * head + branch : 2 * n_head + head;
    }
};

/// Value before the sigmoid of a gate that is 1: exp(-64) vanishes beside 1, also in double.
constexpr double open_gate = 64;

/// Weights of a layer in the layout that the kernels read. Queries, and all layers that compute
/// queries, are multiplied by log2(e) / sqrt(D).
template <class T>
struct LayerWeights {
    kernels::Norm<T> norm1, norm2;
    kernels::Linear<T> position, q, k, v, out;
    Derived<T> qkv;
    Derived<T> sigma;          ///< (H), times log2(e)
    kernels::Linear<T> gates;  ///< GateRows; no weight: static gates
    Derived<T> gate_rows;      ///< of `gates`, or static gates (3H)
    CoarseMlp<T> k_coarse, v_coarse, q_coarse;
    kernels::SwiGlu<T> mlp;
};

/// All layers of a network in one precision.
template <class T>
struct Layers {
    /// Derives the layers from `master`, which must have the names and shapes of layout(config).
    /// Local.
    Layers(const Config& config, const std::shared_ptr<const MasterWeights>& master);
    /// Derives the layers from weights that several stages share. Local.
    Layers(const Config& config, std::shared_ptr<const Weights<T>> shared);

    std::shared_ptr<const Weights<T>> weights;
    const T* fourier = nullptr;    ///< (c_in / 2, d)
    kernels::Linear<T> positions;  ///< linear features only
    kernels::Linear<T> embed, head1, head2;
    std::vector<LayerWeights<T>> layers;
};

/// Returns the factor of queries.
double query_scale(const Config& config);

/// Rows of qkv in a file: queries, keys and values one after the other, or, in Erwin's files, row
/// h*3D + e*3 + {q, k, v} for channel e of head h.
struct QkvRows {
    int64_t n_channel;
    bool is_interleaved;
    /// Returns the row of a channel of queries (part 0), keys (1) or values (2).
    int64_t row(int64_t part, int64_t channel) const;
};
QkvRows qkv_rows(const Config& config);

/// Returns the prefix of the names of a layer's tensors, and of its attention's tensors.
std::string layer_name(const Config& config, int64_t layer);

}  // namespace surrogate::impl::bsa
