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
    /// Keeps a reference to forward, which must outlive it. out_rows: rows of forward whose
    /// gradients this rank contributes, each row on one rank. in_rows: input rows whose gradients
    /// it computes. Local.
    HarmonicGradient(const Frame& frame, const HarmonicUpsampling<T>& forward, Range out_rows,
                     Range in_rows);

    /// Returns the gradient of the output, (out_rows, n_channel), which the caller writes.
    Field<T>& slopes() { return slopes_; }

    /// Sums the contributions of slopes() to the coefficients over all ranks, and prepares the rows
    /// of the input. Returns false, on all ranks, if some slope was not finite. Collective.
    bool reduce();
    /// Computes one input row, (n_channel, n_lon_in).
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
