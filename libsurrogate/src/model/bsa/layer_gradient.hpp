// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/model/bsa/forward.hpp"
#include "libsurrogate/src/model/bsa/parameter_sums.hpp"

namespace surrogate::impl::bsa {

/// Backward pass of one layer at a time, on one rank. The layer is recomputed from its input x;
/// probabilities are recomputed from the logarithms of their sums.
template <class T>
class LayerGradient {
public:
    /// Keeps references to all arguments, which must outlive this object. `forward` must run on one
    /// rank; its slots must not change afterwards. Allocates. Local.
    LayerGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                  Forward<T>& forward);
    LayerGradient(const LayerGradient&) = delete;
    LayerGradient& operator=(const LayerGradient&) = delete;

    /// Differentiates a layer. x: input of the layer, in the layer's order. dx, in the same order,
    /// contains the gradient of the layer's result and receives the gradient of x. Gradients of
    /// parameters are added to `gradients`. Returns false if scores are not finite. Local.
    bool run(int64_t layer, kernels::Tiles<const T> x, kernels::Tiles<T> dx,
             std::span<double> gradients);

    int64_t bytes() const;

private:
    /// Buffers of one thread. Tiles of up to n_column slots and tile_points blocks.
    struct Scratch {
        kernels::Buffer<T> a, b, c;        // (C)
        kernels::Buffer<T> saved, hidden;  // (2 hidden), (3 hidden)
        kernels::Buffer<T> gate, dgate;    // (3H)
        kernels::Buffer<T> branch[3];      // (C)
        kernels::Buffer<T> distance;       // (n_column, tile_points)
        kernels::Buffer<T> attend;
        kernels::Buffer<T> folded, dfolded;  // (l D) for tile_points blocks
        kernels::Buffer<T> coarse, dcoarse;  // (2 E), (2 E)
        kernels::Buffer<kernels::bsa::KeyBlock<const T>> keys;
        kernels::Buffer<kernels::bsa::KeyBlock<T>> dkeys;
    };
    /// Fields of the blocks of queries that the compressed branch reads and writes.
    struct Groups {
        kernels::Tiles<T> q, dy, log_sum, delta, dq;
    };

    void allocate();
    kernels::Tiles<T> field(int64_t n_channel);
    kernels::Tiles<T> group_field(int64_t n_channel);
    kernels::Tile<T> scratch_tile(kernels::Buffer<T>& buffer, int64_t n_channel,
                                  const kernels::Tile<T>& like) const {
        return {buffer.data(), {n_channel, like.shape[1]}, {like.stride[0], 1}};
    }
    kernels::AttendGradient<T> of_ball(int64_t piece) const;
    kernels::AttendGradient<T> of_compressed(int64_t tile) const;
    int64_t n_query_tile() const;

    void finish_backward(const LayerWeights<T>& w, kernels::Tiles<const T> x, kernels::Tiles<T> dx,
                         int64_t tile, int thread);
    void split_branches(const LayerWeights<T>& w, int64_t piece, int thread);
    void sum_groups(int64_t tile, int thread);
    void attend_ball(const LayerWeights<T>& w, bool rotated, int64_t piece, int thread);
    void attend_all(int64_t piece, int thread);
    void attend_coarse(int64_t tile, int thread);
    void sum_of_coarse(int64_t tile, int thread);
    void select(int64_t head, int thread);
    void expand(const LayerWeights<T>& w, int64_t first, int thread);
    void expand_field(const CoarseMlp<T>& mlp, kernels::Tiles<const T> x, int64_t first,
                      kernels::Tile<const T> dy, const std::array<kernels::LinearGradient, 2>& sums,
                      kernels::Tiles<T> dx, int thread);
    void start_backward(const LayerWeights<T>& w, bool rotated, kernels::Tiles<const T> x,
                        kernels::Tiles<T> dx, int64_t tile, int thread);
    void attention_backward(const LayerWeights<T>& w, bool rotated);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    Forward<T>& forward_;
    SlotShape shape_;
    std::vector<kernels::Buffer<T>> memory_;  // memory of the fields below
    BranchOutputs<T> out_;                    // later the gradients of the branches
    kernels::Tiles<T> delta_ball_, delta_compressed_, delta_selected_;  // (H)
    kernels::Tiles<T> q_;  // the workspace's q; a copy if full attention overwrites it
    kernels::Tiles<T> dq_, dk_, dv_, dgate_;
    Groups groups_;
    kernels::Tiles<T> dcoarse_;      // (2C) for tile_points blocks: keys, values
    std::vector<Scratch> scratch_;   // (n_thread)
    std::vector<LayerSums> sums_;    // (n_thread)
    std::vector<WeightName> names_;  // (depth)
};

}  // namespace surrogate::impl::bsa
