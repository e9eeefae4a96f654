// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sphere/resample_backward.hpp"
#include "libsurrogate/src/model/sphere/config.hpp"
#include "libsurrogate/src/model/sphere/frame.hpp"

namespace surrogate::impl::sphere {

/// Runs the backward pass of a ResampleLayer for the input rows of this rank. This rank also
/// computes the gradients of the output rows that it reads, so no data is exchanged.
template <class T>
class ResampleGradient {
public:
    /// Finds the output rows that depend on `in_rows` and allocates. Local.
    ResampleGradient(const Frame& frame, const Resample& config, int64_t n_channel, Range in_rows)
        : table_(kernels::sphere::transpose(
              kernels::sphere::resampling(config.out, config.in, config.interpolation))),
          scratch_(frame.queue.n_thread() * table_.n_scratch()) {
        const auto rows = table_.out_rows(in_rows.begin, in_rows.end);
        slopes_ = Field<T>({rows.begin, rows.end}, config.out.n_lon, n_channel);
    }

    /// Returns the gradient of the output, (output rows that are read, n_channel), which the caller
    /// writes.
    Field<T>& slopes() { return slopes_; }
    Range out_rows() const { return slopes_.rows(); }

    /// Computes one input row, (n_channel, n_lon_in).
    void row(int64_t row, int thread, bool accumulate, Tile<T> dx) {
        kernels::sphere::resample_row_backward<T>(
            table_, row, [&](int64_t out) -> Tile<const T> { return slopes_.row(out); }, accumulate,
            scratch_.data() + thread * table_.n_scratch(), dx);
    }
    int64_t bytes() const { return slopes_.bytes() + scratch_.bytes(); }

private:
    kernels::sphere::ResamplingTranspose table_;
    Buffer<T> scratch_;
    Field<T> slopes_;
};

}  // namespace surrogate::impl::sphere
