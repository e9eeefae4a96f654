// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/convolution.hpp"
#include "libsurrogate/src/model/sphere/gradient_slot.hpp"

namespace surrogate::impl::sphere {

/// Runs the backward pass of a ConvolutionLayer. The gradient of its input is a convolution with
/// the transposed stencil, in the opposite order: where forward applies its weights first, backward
/// applies the stencil first. Every sum runs over rows and columns in a fixed order, so the result
/// is bitwise reproducible on any number of ranks.
template <class T>
class ConvolutionGradient {
public:
    /// Tables and rows of a run; layers of one shape share one.
    struct Workspace {
        Stencil stencil;  ///< transposed
        Buffer<T> values;
        RingLayout layout;
        Buffer<T> memory;      ///< rings of what the output's gradient becomes
        Buffer<T> row_memory;  ///< (thread, channels, n_lon_out): a row on its way to the rings
        Buffer<double> sums;   ///< (thread, n_out, n_basis, n_in): weights first
        Range dy_rows;         ///< output rows whose gradients are read
        Range own_rows;        ///< of these, rows that this rank computed itself
        NeighborExchange exchange;
        Schedule tiles;  ///< of phase columns of the input rows
        int64_t bytes() const;
    };

    /// Finds the gradients by name. prefix of the weights' names, as for the layer, which must
    /// outlive it. Local.
    ConvolutionGradient(const Frame& frame, const ConvolutionLayer<T>& layer,
                        const Convolution& config, const MasterWeights& master,
                        const std::string& prefix);

    /// Serves a layer whose weights are derived from others: only sum_weights() adds up their
    /// gradients.
    ConvolutionGradient(const Frame& frame, const ConvolutionLayer<T>& layer,
                        const Convolution& config);

    /// Allocates the memory for the gradients of the input rows `in_rows`. Local.
    static void prepare(const Frame& frame, const Convolution& config, Range in_rows,
                        Workspace& ws);
    /// Plans the exchange of gradients that ranks compute, output rows in bands. Collective.
    static void connect(const Frame& frame, const Convolution& config, const Bands& out_bands,
                        Workspace& ws);
    static void require(const Convolution& config, Scratch<T>& scratch);

    // A run: the gradient of the output, by one of the two, then tiles of the input.

    /// Exchanges rows of dy (own rows of the output, n_out). Collective.
    void exchange(Workspace& ws, Field<T>& dy) const;
    /// Copies rows from a field that holds ws.dy_rows. Local.
    void load(Workspace& ws, Field<T>& dy) const;

    /// Computes the gradient of the values that forward read from its rings: dring (n_ring_channel,
    /// natural columns of `work`), one of ws.tiles.
    void ring_gradient(Workspace& ws, Scratch<T>& scratch, const Work& work, int thread,
                       Tile<T> dring) const;
    /// Computes dx (n_in, n) of dring (n_ring_channel, n): through the weights if they come first,
    /// otherwise a copy.
    void input_gradient(Tile<const T> dring, Tile<T> dx) const;

    /// Adds the gradients of weights of one row, a chunk. Geometry first: an output row, whose
    /// rings are as forward left them; dy (own rows of the output).
    void add_weights(typename ConvolutionLayer<T>::Workspace& forward, Scratch<T>& scratch,
                     int64_t row, int thread, Field<T>& dy, GradientSums& sums) const;
    /// Adds the gradients of weights that come first: of an input row x (n_in, n_lon_in) and its
    /// dring. The bias has a chunk of its own: add_bias() of every output row.
    void add_weights(Workspace& ws, Tile<const T> x, Tile<const T> dring, int thread,
                     GradientSums& sums) const;
    void add_bias(Tile<const T> dy, int thread, GradientSums& sums) const;
    /// Adds the gradients of weights to the caller's memory, of the weight's shape (n_out, n_in /
    /// groups, n_basis), in either order.
    void sum_weights(typename ConvolutionLayer<T>::Workspace& forward, Scratch<T>& scratch,
                     int64_t row, int thread, Field<T>& dy, kernels::LinearGradient to) const;
    void sum_weights(Workspace& ws, Tile<const T> x, Tile<const T> dring, int thread,
                     double* to) const;

    bool is_weights_first() const { return layer_.is_weights_first(); }
    int64_t n_ring_channel() const { return layer_.n_ring_channel_; }
    LayerCost cost(const std::string& name, const Workspace& ws) const;

private:
    static int64_t n_source(const Convolution& config);
    Tile<T> row_memory(Workspace& ws, int thread) const;
    void store(Workspace& ws, int64_t row, int thread, Tile<const T> dy) const;
    void unmix(Tile<const T> dy, Tile<T> dz) const;

    const Frame& frame_;
    const ConvolutionLayer<T>& layer_;
    Convolution config_;
    int64_t n_source_;  // counted when planning: counting takes memory, which a run must not
    GradientPair slots_;
};

}  // namespace surrogate::impl::sphere
