// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/harmonic_upsampling.hpp"
#include "libsurrogate/src/ranks/exact_sum.hpp"

namespace surrogate::impl::sphere {

/// Runs the backward pass of a HarmonicUpsampling. Every rank has the gradients of some output
/// rows, and adds its contributions to the gradients of all coefficients. These are summed exactly
/// over ranks, so the result is bitwise reproducible on any number of ranks. From them each rank
/// computes the gradients of its input rows.
template <class T>
class HarmonicGradient {
public:
    /// Local. out_rows: output rows whose gradients this rank brings, each row on one rank; rows of
    /// forward, which must outlive it. in_rows: input rows whose gradients it computes.
    HarmonicGradient(const Frame& frame, const HarmonicUpsampling<T>& forward, Range out_rows,
                     Range in_rows);

    /// The gradient of the output, written by the caller: (out_rows, n_channel).
    Field<T>& slopes() { return slopes_; }

    /// Collective: from slopes() to coefficients on all ranks, and the rows of the input. False, on
    /// all ranks, if some slope was not finite.
    bool reduce();
    /// One input row, (n_channel, n_lon_in).
    void row(int64_t row, Tile<T> dx) const;

    LayerCost cost(const std::string& name) const;
    int64_t bytes() const;

private:
    double largest_row();
    void add_rows(const ExactGrid& grid);
    int64_t n_coefficient() const;

    const Frame& frame_;
    const HarmonicUpsampling<T>& forward_;
    Range in_rows_;
    int64_t n_limb_;
    Field<T> slopes_;
    Buffer<int64_t> sums_;                // (limb, channel, n_degree, n_degree, 2)
    Buffer<std::complex<double>> terms_;  // (thread, n_degree, n_degree)
    Buffer<double> rows_;                 // (thread, n_lon_out)
    Buffer<double> fields_;               // (channel, in row, n_lon_in)
};

}  // namespace surrogate::impl::sphere
