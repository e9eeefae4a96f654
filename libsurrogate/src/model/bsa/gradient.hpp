// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/bsa/forward.hpp"
#include "libsurrogate/src/model/bsa/layer_gradient.hpp"
#include "libsurrogate/src/model/bsa/parameter_sums.hpp"

namespace surrogate::impl::bsa {

/// Predictions of Ball Sparse Attention and, from their gradients, those of parameters and inputs.
/// On one rank. Trees and chosen blocks count as constants, as in the official code.
///
/// Memory: x before each layer (4 C bytes a slot and layer in float), and of one layer everything.
/// Gradients have the same bits for the same number of threads.
template <class T>
class Gradient {
public:
    /// Local, after Forward::resize(); for the points as they are now. All must outlive it.
    ///   ports  from the caller's features, if there are any, to predictions
    ///   back   from the gradients of predictions to those of inputs: of positions, through their
    ///          features (d), then of features (c_in) if the caller gives them
    Gradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
             PointPorts<T>& ports, PointPorts<T>& back, const TreePlan<T>& plan,
             Forward<T>& forward);

    /// From the input tiles of `ports` to its output tiles. Takes no memory. Returns false if
    /// scores are not finite: no block can be chosen then.
    bool forward();

    /// After forward(): from the input tiles of `back` to its output tiles. Gradients of parameters
    /// are added to `gradients`, an arena as MasterWeights::gradients(). Takes no memory. Returns
    /// false, and adds only some of them, if scores are not finite.
    bool backward(std::span<double> gradients);

    int64_t bytes() const;

private:
    /// Buffers of one thread, tiles of points.
    struct Scratch {
        kernels::Buffer<T> z, h, dh;             // (C)
        kernels::Buffer<T> features, dfeatures;  // (c_in)
        kernels::Buffer<T> angles;               // (c_in)
    };
    kernels::Tile<T> tile_in(kernels::Buffer<T>& buffer, int64_t n_channel, int64_t n) const {
        return {buffer.data(), {n_channel, n}, {kernels::tile_points, 1}};
    }
    kernels::Tiles<T> saved(int64_t layer) {
        return forward_.work().shape().tiles(saved_[static_cast<size_t>(layer)].data(),
                                             config_.n_channel);
    }
    void head_backward(int64_t tile, int thread);
    bool layer_backward(int64_t layer, std::span<double> gradients);
    void embed_backward(int64_t tile, int thread);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    PointPorts<T>&ports_, &back_;
    const TreePlan<T>& plan_;
    Forward<T>& forward_;
    LayerGradient<T> layer_;
    std::vector<kernels::Buffer<T>> saved_;  // x before each layer, and behind the last one
    kernels::Buffer<T> x_, dx_, dres_;       // tiles of slots
    std::vector<Scratch> scratch_;           // (n_thread)
    std::vector<EndSums> sums_;              // (n_thread)
};

}  // namespace surrogate::impl::bsa
