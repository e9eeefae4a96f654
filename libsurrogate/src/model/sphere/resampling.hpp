// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/sphere/resample.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/bands.hpp"
#include "libsurrogate/src/model/sphere/frame.hpp"
#include "libsurrogate/src/ranks/neighbor_exchange.hpp"

namespace surrogate::impl::sphere {

/// Interpolation to other rows and columns, for the output rows that this rank reads.
template <class T>
class ResampleLayer {
public:
    /// Finds the input rows of `out_rows` and allocates. Local.
    ResampleLayer(const Frame& frame, const Resample& config, int64_t n_channel, Range out_rows);
    /// Plans the exchange of inputs that ranks compute, input rows in bands. Collective.
    void connect(const Bands& in_bands);

    /// Returns the input rows that the output rows depend on.
    Range in_rows() const { return in_rows_; }

    /// Exchanges input rows; `source` holds the rows this rank computed. Collective.
    void exchange(Field<T>& source);
    /// Copies input rows from `source`, which holds them all. Local.
    void load(Field<T>& source);

    /// Computes one output row, (n_channel, n_lon_out).
    void row(int64_t row, int thread, bool accumulate, Tile<T> y);

    LayerCost cost(const std::string& name) const;
    int64_t bytes() const { return rows_.bytes() + scratch_.bytes() + exchange_.bytes(); }

private:
    void load_own(Field<T>& source);
    void fill_poles();
    int64_t extended(int64_t row) const { return row + (table_.has_poles ? 1 : 0); }

    const Frame& frame_;
    kernels::sphere::Resampling table_;
    int64_t n_channel_;
    Range out_rows_, in_rows_, own_rows_;
    Field<T> rows_;     // extended rows, see Resampling
    Field<T> scratch_;  // a row a thread
    NeighborExchange exchange_;
};

}  // namespace surrogate::impl::sphere
