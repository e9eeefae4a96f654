// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/model/bsa/erwin_messages.hpp"
#include "libsurrogate/src/model/bsa/thread_sums.hpp"

namespace surrogate::impl::bsa::erwin {

/// Differentiates the embedding of Erwin on one rank, after Messages::run() has stored h before
/// each step. Messages are recomputed. Positions count as constants.
///
/// Memory: C numbers per edge. Gradients are bitwise identical for the same number of threads.
template <class T>
class MessageGradient {
public:
    /// Adds its tensors to `sums`. Keeps references to all arguments, which must outlive this
    /// object. Local.
    ///   back  without input; receives the gradients of features that the caller gives
    MessageGradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                    Messages<T>& messages, PointPorts<T>& back, ThreadSums& sums);

    /// Allocates memory for the current points and edges; call it after Messages::connect(). Local.
    void allocate();

    /// Adds the gradients of weights to the sums, and writes those of features.
    ///   dh  (n_local, C) gradient of the result of Messages::run(); overwritten
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
        kernels::Buffer<T> in, z, a, din, dout, target, features, angles;
    };
    kernels::Tile<T> tile_in(kernels::Buffer<T>& buffer, int64_t n_channel, int64_t n) const {
        return {buffer.data(), {n_channel, n}, {kernels::tile_points, 1}};
    }
    void sort_by_source();
    void step_backward(size_t step, T* dh, int64_t tile, int thread);
    void edges_backward(size_t step, Range edges, int64_t first_target, T* rows, int thread);
    void add_sources(T* dh, int64_t tile);
    void embed_backward(const T* dh, int64_t tile, int thread);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    Messages<T>& messages_;
    PointPorts<T>& back_;
    ThreadSums& sums_;
    int64_t n_channel_;  // C
    ThreadSums::Part fourier_;
    ThreadSums::Layer positions_, embed_;
    std::vector<StepSums> steps_;
    std::vector<int64_t> first_of_source_, edge_of_source_;  // (n_local + 1), (n_edge)
    kernels::Buffer<T> dsource_;                             // (n_edge, C)
    std::vector<Scratch> scratch_;                           // (n_thread)
};

}  // namespace surrogate::impl::bsa::erwin
