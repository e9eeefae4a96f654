// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/model/bsa/erwin_messages.hpp"
#include "libsurrogate/src/model/bsa/thread_sums.hpp"

namespace surrogate::impl::bsa::erwin {

/// Differentiates the embedding of Erwin on one rank, after Messages::run() has stored the values
/// of each step. Messages are recomputed, positions count as constants. Points are in the order of
/// the tree, so that sums do not depend on the order of the solver.
///
/// Memory: C numbers per edge and 2 C per point. Gradients are bitwise identical for the same
/// number of threads.
template <class T>
class MessageGradient {
public:
    /// Adds its tensors to `sums`. Keeps references to all arguments, which must outlive this
    /// object. Local.
    ///   features  the features that the caller gives, in the order of the solver
    ///   back      without input, in the same order; receives their gradients
    MessageGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                    Messages<T>& messages, PointPorts<T>& features, PointPorts<T>& back,
                    ThreadSums& sums);

    /// Allocates memory for the current points and edges; call it after Messages::connect(). Local.
    void allocate(const RowRoute& route);

    /// Adds the gradients of weights to the sums, and writes the gradients of features.
    ///   dh  (n_point, C) gradient of the result of Messages::run(); overwritten
    void run(T* dh);

    int64_t bytes() const;

private:
    /// Tensors of a step.
    struct StepSums {
        ThreadSums::Layer message, message_norm, update, update_norm;
    };
    /// Tiles of one thread: input of a layer, its output before and after the activation, and
    /// gradients.
    struct Scratch {
        kernels::Buffer<T> in, z, a, din, dout, dmean, features, dfeatures, positions, angles;
    };
    kernels::Tile<T> tile_in(kernels::Buffer<T>& buffer, int64_t n_channel, int64_t n) const {
        return {buffer.data(), {n_channel, n}, {kernels::tile_points, 1}};
    }
    int64_t count(int64_t tile) const {
        return std::min(kernels::tile_points, messages_.n_point() - tile * kernels::tile_points);
    }
    void sort_edges();
    void sort_by_source();
    void restore(size_t step, int64_t tile);
    void step_backward(size_t step, T* dh, int64_t tile, int thread);
    void edges_backward(size_t step, Range edges, int64_t first_target, T* rows, int thread);
    void add_sources(T* dh, int64_t tile);
    kernels::Tile<T> features(int64_t tile, Scratch& scratch);
    void embed_backward(const T* dh, int64_t tile, int thread);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    Messages<T>& messages_;
    PointPorts<T>&features_, &back_;
    ThreadSums& sums_;
    int64_t n_channel_;  // C
    ThreadSums::Part fourier_;
    ThreadSums::Layer positions_, embed_;
    std::vector<StepSums> steps_;
    std::vector<int64_t> row_;  // (n_point) row of the solver
    // Edges in ascending order of their targets, and, for a target, of the ids of their sources.
    std::vector<int64_t> first_, source_, target_;           // (n_point + 1), (n_edge), (n_edge)
    std::vector<int64_t> first_of_source_, edge_of_source_;  // (n_point + 1), (n_edge)
    kernels::Buffer<T> h_, mean_;                            // (n_point, C), of a step
    kernels::Buffer<T> dsource_;                             // (n_edge, C)
    std::vector<Scratch> scratch_;                           // (n_thread)
};

}  // namespace surrogate::impl::bsa::erwin
