// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"
#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/model/hept/layers.hpp"

namespace surrogate::impl::hept {

/// Output MLP of the network, on tiles of points:
///
///   t_0 = e,   t_j = tanh(norm_j(W_j t_(j-1) + b_j)) for j = 1 .. 4
///   y = out(e + W_5 t_4 + b_5)                                      without classes: no out
///
/// Training drops values of W_5 t_4 + b_5.
template <class T>
class Readout {
public:
    /// Keeps references to `config` and `layers`, which must outlive this object. Local.
    Readout(const Config& config, const Layers<T>& layers, const kernels::Queue& queue)
        : config_(config), layers_(layers), queue_(queue) {}

    /// Computes y (n_out, n_point) from e (m, n_point). scratch: n_scratch() elements per thread.
    /// dropout: null, or the masks, of the points `rows`.
    void run(kernels::Tile<const T> e, T* scratch, kernels::Tile<T> y, const Dropout* dropout,
             const DropoutRows& rows) const;
    int64_t n_scratch() const {
        return (2 * Config::mlp_width + config_.n_embedding()) * kernels::tile_points;
    }

    /// Computes de (m, n_point) from e and dy, the gradient of y, and adds the gradients of the
    /// weights to `gradients`. scratch: n_backward_scratch() elements.
    void backward(kernels::Tile<const T> e, kernels::Tile<const T> dy, const Gradients& gradients,
                  T* scratch, kernels::Tile<T> de, const Dropout* dropout,
                  const DropoutRows& rows) const;
    int64_t n_backward_scratch() const {
        return (10 * Config::mlp_width + 3 * config_.n_embedding()) * kernels::tile_points;
    }

private:
    static constexpr size_t n_norm = 4;
    /// Values of a tile that the forward pass stores: sums and results of the layers that have a
    /// norm.
    struct Saved {
        std::array<kernels::Tile<T>, n_norm> sums, results;
    };
    void hidden(size_t j, kernels::Tile<const T> from, kernels::Tile<T> sum,
                kernels::Tile<T> result) const;
    void hidden_backward(size_t j, const Saved& saved, kernels::Tile<const T> from,
                         const Gradients& gradients, kernels::Tile<T> work,
                         kernels::Tile<T> dresult) const;
    /// Masks of a tile of points.
    struct Masks {
        const Dropout* dropout;  ///< null: nothing is dropped
        const DropoutRows& rows;
    };
    void embed(kernels::Tile<const T> e, kernels::Tile<const T> last, const Masks& masks,
               kernels::Tile<T> embedding) const;
    kernels::Tile<const T> outer_backward(kernels::Tile<const T> e, kernels::Tile<const T> last,
                                          kernels::Tile<const T> dy, const Gradients& gradients,
                                          const Masks& masks, kernels::Tile<T> embedding,
                                          kernels::Tile<T> dembedding) const;

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
};

}  // namespace surrogate::impl::hept
