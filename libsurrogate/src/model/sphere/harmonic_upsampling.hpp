// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/sphere/harmonics.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/bands.hpp"
#include "libsurrogate/src/model/sphere/frame.hpp"
#include "libsurrogate/src/ranks/neighbor_exchange.hpp"

namespace surrogate::impl::sphere {

/// Interpolates by spherical harmonics: analysis on a coarse grid, synthesis of some rows of a fine
/// grid. Coarse grids are small, so every rank receives all rows and applies the analysis in the
/// same order. The result does not depend on the number of ranks.
template <class T>
class HarmonicUpsampling {
public:
    /// Prepares the transforms. Throws bad_file for grids without a transform. Local.
    HarmonicUpsampling(const Frame& frame, const Grid& out, const Grid& in, int64_t n_channel,
                       Range out_rows);
    /// Plans the gather of input rows in bands. Collective.
    void connect(const Bands& in_bands);

    /// Gathers all rows of the input and computes their coefficients. `source` holds the rows that
    /// this rank computed. Collective.
    void exchange(Field<T>& source);
    /// Computes one output row, (n_channel, n_lon_out).
    void row(int64_t row, Tile<T> y);

    const kernels::sphere::Harmonics& in() const { return in_; }
    const kernels::sphere::Harmonics& out() const { return out_; }  ///< has the output rows
    int64_t n_channel() const { return n_channel_; }

    LayerCost cost(const std::string& name) const;
    int64_t bytes() const;

private:
    const Frame& frame_;
    kernels::sphere::Harmonics in_, out_;
    int64_t n_channel_;
    Range out_rows_;
    Buffer<double> fields_;                      // (channel, n_lat_in, n_lon_in)
    Buffer<std::complex<double>> coefficients_;  // (channel, n_degree, n_degree)
    Buffer<double> synthesis_;                   // (channel, out row, n_lon_out)
    NeighborExchange exchange_;
};

}  // namespace surrogate::impl::sphere
