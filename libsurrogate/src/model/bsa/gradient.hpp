// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/bsa/forward.hpp"
#include "libsurrogate/src/model/bsa/layer_gradient.hpp"
#include "libsurrogate/src/model/bsa/parameter_sums.hpp"
#include "libsurrogate/src/model/bsa/position_gradient.hpp"

namespace surrogate::impl::bsa {

/// Computes predictions of Ball Sparse Attention and, from the gradients of predictions, the
/// gradients of parameters and inputs. Trees and chosen blocks count as constants. So do relative
/// positions and distances when gradients of parameters are wanted, as in the official code.
///
/// Memory: x before each layer (4 C bytes per slot and layer in float), and all values of one
/// layer. Reproducible: gradients of parameters are summed ball by ball, a ball in one chunk of
/// GradientSums. Otherwise, gradients are bitwise identical for the same numbers of ranks and
/// threads, and a run is one chunk.
template <class T>
class Gradient {
public:
    /// Allocates memory for the current points; call it after Forward::resize(). All arguments must
    /// outlive this object. Local.
    ///   ports  from the caller's features, if there are any, to predictions
    ///   back   from the gradients of predictions to the gradients of inputs: of positions (d),
    ///   then
    ///          of features (c_in) if the caller gives them
    Gradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
             Communicator& comm, PointPorts<T>& ports, PointPorts<T>& back, const TreePlan<T>& plan,
             Forward<T>& forward, bool is_reproducible, bool saves_less);

    /// Evaluates the network from the input tiles of `ports` to its output tiles. Does not
    /// allocate. Returns false, on all ranks, if scores of some rank are not finite; blocks cannot
    /// be chosen then. Collective.
    bool forward();

    /// Differentiates the last forward(), from the input tiles of `back` to its output tiles. Adds
    /// the gradients of parameters to `sums`. Gradients of positions are those through their
    /// features and, with `is_relative`, which is the same on all ranks, through relative positions
    /// and distances. Does not allocate. Returns false, on all ranks, after adding only some of the
    /// gradients, if scores of some rank are not finite. Collective.
    bool backward(GradientSums& sums, bool is_relative);

    const LayerGradient<T>& layer() const { return layer_; }
    int64_t bytes() const;

private:
    /// Buffers of one thread, tiles of points.
    struct Scratch {
        kernels::Buffer<T> z, h, dh;             // (C)
        kernels::Buffer<T> features, dfeatures;  // (c_in)
        kernels::Buffer<T> angles;               // (c_in)
        kernels::Buffer<T> y, positions, inputs, back;
    };
    kernels::Tile<T> tile_in(kernels::Buffer<T>& buffer, int64_t n_channel, int64_t n) const {
        return {buffer.data(), {n_channel, n}, {kernels::tile_points, 1}};
    }
    kernels::Tiles<T> saved(int64_t layer) {
        return forward_.work().shape().tiles(saved_[static_cast<size_t>(layer)].data(),
                                             config_.n_channel);
    }
    /// Calls body(points, thread) for up to tile_points points at a time, on all threads. Then the
    /// sums of `part` are complete.
    template <class Body>
    void for_points(GradientSums& sums, EndSums::Part part, const Body& body);
    /// Calls body(begin, end) for parts of the elements of a field (C), on all threads.
    template <class Body>
    void for_elements(const Body& body);
    Range points_of_ball(int64_t ball) const;
    void head_backward(Range points, int thread);
    bool layer_backward(int64_t layer, GradientSums& sums, bool is_relative);
    void embed_backward(Range points, bool is_relative, int thread);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    PointPorts<T>&ports_, &back_;
    const TreePlan<T>& plan_;
    Forward<T>& forward_;
    bool is_reproducible_;
    LayerGradient<T> layer_;
    std::vector<kernels::Buffer<T>> saved_;         // x before each layer, and after the last one
    kernels::Buffer<T> x_, dx_, dres_;              // tiles of slots
    std::optional<PositionGradient<T>> dposition_;  // if the network has balls
    std::vector<Scratch> scratch_;                  // (n_thread)
    std::vector<EndSums> sums_;                     // (n_thread)
};

}  // namespace surrogate::impl::bsa
