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

/// Predictions of Ball Sparse Attention and, from their gradients, those of parameters and inputs. On
/// one rank. Trees and chosen blocks count as constants, as in the official code.
///
/// Memory: x before each layer (4 C bytes a slot and layer in float), and of one layer everything.
template <class T>
class Gradient {
public:
    /// The request's domain is one rank's. config, layers, the domain and the columns of coordinates
    /// must outlive it. Throws not_supported (several ranks, a single layer), and as TreePlan.
    Gradient(const Config& config, const Layers<T>& layers, const PlanRequest& request);

    /// features: columns of the caller's features, none if positions make them. outputs: columns of
    /// predictions. Throws not_finite if scores are not.
    void forward(std::span<const Column> features, std::span<const Column> outputs);

    /// After forward(): from the columns of the predictions' gradients. Gradients of parameters are
    /// added to `gradients`, an arena as MasterWeights::gradients(). inputs (d, then c_in if the
    /// caller gives features): columns for the gradients of positions, through their features, and
    /// of features.
    void backward(std::span<const Column> doutputs, std::span<double> gradients,
                  std::span<const Column> inputs);

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
    void gather(PointPorts<T>& ports, std::span<const Column> columns);
    void head_backward(int64_t tile, int thread);
    void layer_backward(int64_t layer, std::span<double> gradients);
    void embed_backward(int64_t tile, int thread);
    int64_t n_given() const { return config_.features == Features::given ? config_.n_feature : 0; }

    const Config& config_;
    const Layers<T>& layers_;
    const PointDomain& domain_;
    kernels::Queue queue_;
    ChoiceHook no_hook_;
    PointPorts<T> ports_, back_;  // of values, of gradients
    TreePlan<T> plan_;
    Forward<T> forward_;
    std::optional<LayerGradient<T>> layer_;
    std::vector<kernels::Buffer<T>> saved_;  // x before each layer, and behind the last one
    kernels::Buffer<T> x_, dx_, dres_;       // tiles of slots
    std::vector<Scratch> scratch_;           // (n_thread)
    std::vector<EndSums> sums_;              // (n_thread)
};

}  // namespace surrogate::impl::bsa
