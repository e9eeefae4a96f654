// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/bsa/erwin_messages.hpp"
#include "libsurrogate/src/model/bsa/point_chunks.hpp"

namespace surrogate::impl::bsa::erwin {

/// Differentiates the embedding of Erwin, after Messages::run() has stored the values of each step.
/// Messages are recomputed on the rank that owns their target. The gradient of a source is sent to
/// its owner edge by edge. The owner adds all of them in the order of their targets, so that it
/// does not depend on ranks and threads. Gradients of weights are summed in the given chunks.
///
/// Memory: C + d numbers per edge from or to this rank's points.
template <class T>
class MessageGradient {
public:
    /// Keeps references to all arguments, which must outlive this object. Local.
    ///   messages  connected with connect_in_tree()
    ///   features  the features that the caller gives, in the order of the tree
    ///   back      receives the gradients of positions, through their features (d), then of
    ///             features (c_in) if the caller gives them
    MessageGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                    Communicator& comm, const Messages<T>& messages, PointPorts<T>& features,
                    PointPorts<T>& back);

    /// Adopts the current edges of the messages. Collective. Throws no_memory on all ranks.
    void connect();

    /// Adds the gradients of weights to the sums, and writes the gradients of positions and
    /// features. Collective. Does not allocate.
    ///   dh         (n_point, C) gradient of the result of Messages::run(); overwritten
    ///   dposition  (n_point, d) gradient of positions through the result's other uses of them, and
    ///              overwritten; null on all ranks: differences of positions count as constants
    void run(const PointChunks& chunks, T* dh, T* dposition, GradientSums& sums);

    /// Returns the bytes that this rank sends in each step of messages, and the number of
    /// exchanges.
    int64_t bytes_sent() const {
        return exchange_.n_item_sent() * n_channel_ * static_cast<int64_t>(sizeof(T));
    }
    int64_t collectives() const { return exchange_.collectives(); }
    int64_t bytes() const;

private:
    /// Layers of a step: message, message norm, update, update norm.
    using StepNames = std::array<WeightName, 4>;
    /// Tiles of one thread: input of a layer, its output before and after the activation, and
    /// gradients.
    struct Scratch {
        kernels::Buffer<T> in, z, a, din, dout, dmean, mean, features, dfeatures, positions, angles,
            back;
    };
    kernels::Tile<T> tile_in(kernels::Buffer<T>& buffer, int64_t n_channel, int64_t n) const {
        return {buffer.data(), {n_channel, n}, {kernels::tile_points, 1}};
    }
    int64_t first_edge(int64_t point) const {
        const Edges* const edges = messages_.edges();
        return edges ? edges->first[static_cast<size_t>(point)] : 0;
    }
    /// An edge, sent to the owner of its source.
    struct SourceEdge {
        int64_t source = 0, edge = 0;  ///< row of the owner; number on the target's rank
        int32_t owner = 0, rank = 0;   ///< of source and target
    };
    std::vector<NeighborExchange::Want> sort_by_source(const std::vector<SourceEdge>& list);
    void step_backward(size_t step, Range points, T* dh, const Gradients& gradients,
                       Scratch& scratch);
    void edges_backward(size_t step, Range edges, int64_t first_target, T* rows,
                        const Gradients& gradients, Scratch& scratch);
    int64_t row() const { return n_channel_ + (dposition_ ? config_.n_axis : 0); }
    void add_sources(T* dh, int64_t tile);
    kernels::Tile<const T> features(Range points, Scratch& scratch);
    void embed_backward(Range points, const T* dh, const Gradients& gradients, Scratch& scratch);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    Communicator& comm_;
    const Messages<T>& messages_;
    PointPorts<T>&features_, &back_;
    int64_t n_channel_;  // C
    std::vector<WeightName> embed_names_;
    std::vector<StepNames> steps_;
    // Rows of dsource_ of each point, in the order of their targets.
    std::vector<int64_t> first_of_source_, row_of_source_;  // (n_point + 1), (edges from points)
    NeighborExchange exchange_;                             // gradients of sources
    T* dposition_ = nullptr;                                // of the current run
    kernels::Buffer<T> dsource_;    // (n_edge + edges from points to other ranks, row())
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::bsa::erwin
