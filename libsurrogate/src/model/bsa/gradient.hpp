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

/// Computes predictions of Ball Sparse Attention and, from the gradients of predictions, the
/// gradients of parameters and inputs, on one rank. Trees and chosen blocks count as constants, as
/// in the official code.
///
/// Memory: x before each layer (4 C bytes per slot and layer in float), and all values of one
/// layer. Gradients are bitwise identical for the same number of threads.
template <class T>
class Gradient {
public:
    /// Allocates memory for the current points; call it after Forward::resize(). All arguments must
    /// outlive this object. Local.
    ///   ports  from the caller's features, if there are any, to predictions
    ///   back   from the gradients of predictions to the gradients of inputs: of positions, through
    ///          their features (d), then of features (c_in) if the caller gives them
    Gradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
             PointPorts<T>& ports, PointPorts<T>& back, const TreePlan<T>& plan,
             Forward<T>& forward);

    /// Evaluates the network from the input tiles of `ports` to its output tiles. Does not
    /// allocate. Returns false if scores are not finite; blocks cannot be chosen then.
    bool forward();

    /// Differentiates the last forward(), from the input tiles of `back` to its output tiles. Adds
    /// the gradients of parameters to `gradients`, an arena like MasterWeights::gradients(). Does
    /// not allocate. Returns false, after adding only some of the gradients, if scores are not
    /// finite.
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
    std::vector<kernels::Buffer<T>> saved_;  // x before each layer, and after the last one
    kernels::Buffer<T> x_, dx_, dres_;       // tiles of slots
    std::vector<Scratch> scratch_;           // (n_thread)
    std::vector<EndSums> sums_;              // (n_thread)
};

}  // namespace surrogate::impl::bsa
