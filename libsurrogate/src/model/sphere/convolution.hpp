// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/sphere/convolve.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/bands.hpp"
#include "libsurrogate/src/model/sphere/frame.hpp"
#include "libsurrogate/src/ranks/neighbor_exchange.hpp"

namespace surrogate::impl::sphere {

using kernels::sphere::RingLayout;
using kernels::sphere::Rings;
using kernels::sphere::Stencil;

template <class T>
class ConvolutionGradient;

/// A discrete-continuous convolution, transposed or not, for this rank's output rows. Geometry and
/// weights are contracted in the order that takes fewer operations.
template <class T>
class ConvolutionLayer {
public:
    /// Tables and rows of a run; layers of one shape share one.
    struct Workspace {
        Stencil stencil;
        Buffer<T> values;  ///< the stencil's, rounded once
        RingLayout layout;
        Buffer<T> memory;      ///< rings of n_ring_channel channels
        Buffer<T> row_memory;  ///< (thread, row_channels, n_lon): a row on its way to the rings
        Range in_rows;         ///< input rows that the output rows read
        Range own_rows;        ///< input rows that this rank computes itself; see connect()
        NeighborExchange exchange;
        Schedule tiles;  ///< of phase columns of the output rows
        int64_t n_phase_out = 1;
        int64_t n_row_channel = 0;  ///< of row_memory
        Tile<T> row(const Convolution& config, int thread, int64_t first, int64_t n_channel);
        int64_t bytes() const;
    };

    /// Finds the weights by name. prefix: "encoder.conv.". Local.
    ConvolutionLayer(const Frame& frame, const Convolution& config, const Weights<T>& weights,
                     const std::string& prefix);
    /// Takes a weight (n_out, n_in / groups, n_basis) derived from the weights, and no bias.
    ConvolutionLayer(const Frame& frame, const Convolution& config, const Weights<T>& weights,
                     const T* weight);

    /// Allocates the memory for output rows of this rank. Local.
    static void prepare(const Frame& frame, const Convolution& config, Range out_rows,
                        Workspace& ws);
    /// Plans the exchange of inputs that ranks compute, input rows in bands. Collective.
    static void connect(const Frame& frame, const Convolution& config, const Bands& in_bands,
                        Workspace& ws);
    static void require(const Convolution& config, Scratch<T>& scratch);

    // A run: the input rows, by one of the two, then tiles of the output.

    /// Exchanges input rows; `source` holds the rows this rank computed (n_in). Collective.
    void exchange(Workspace& ws, Field<T>& source) const;
    /// Copies input rows from `source`, which holds them all. Local.
    void load(Workspace& ws, Field<T>& source) const;
    /// Returns one input row of ring channels, (n_ring_channel, n_lon_in), which the caller writes
    /// and then completes with close(). Only for inputs without phases.
    Tile<T> ring_row(Workspace& ws, int64_t row) const;
    void close(Workspace& ws, int64_t row) const;

    /// Computes y (n_out, work.count * n_phase_out): the natural columns that belong to the phase
    /// columns of `work`, one of ws.tiles.
    void convolve(Workspace& ws, Scratch<T>& scratch, const Work& work, int thread,
                  Tile<T> y) const;

    /// Returns true if the weights are applied before geometry, from (n_in) to (n_ring_channel).
    static bool is_weights_first(const Convolution& config);
    static int64_t n_ring_channel(const Convolution& config);
    bool is_weights_first() const { return is_weights_first_; }
    void expand(Tile<const T> x, Tile<T> t) const;

    LayerCost cost(const std::string& name, const Workspace& ws) const;

    static constexpr int basis_slot = 2, phase_slot = 3;

private:
    friend class ConvolutionGradient<T>;
    static int64_t row_channels(const Convolution& config);
    void set_weight(const Weights<T>& weights, const T* weight);
    void store(Workspace& ws, int64_t row, int thread, Tile<const T> x) const;

    const Frame& frame_;
    Convolution config_;
    const T* weight_ = nullptr;
    const T* bias_ = nullptr;
    // Known when planning: counting basis functions takes memory, which a run must not.
    bool is_weights_first_ = false;
    int64_t n_basis_ = 0, n_ring_channel_ = 0;
    Derived<T> reordered_;  // weights first: (n_out, n_basis, n_in)
};

/// Returns the work of a column of the output and of each of its pairs in the neighborhood of the
/// filter's radius (every pair has up to four basis functions).
RowWork convolution_work(const Convolution& config);

}  // namespace surrogate::impl::sphere
