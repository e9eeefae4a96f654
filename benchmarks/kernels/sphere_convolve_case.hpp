// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/sphere/convolve.hpp"
#include "kernels/sphere/resample.hpp"

namespace surrogate::bench {

/// Psi of the models' filter, (5, 4) piecewise linear, on a whole field of fixed random numbers;
/// before the channel weights (`apply_basis`) or after them (`sum_basis`).
class ConvolveCase {
public:
    enum Ordering { geometry_first, weights_first };

    ConvolveCase(Ordering order, kernels::Grid out, kernels::Grid in, double theta_cutoff,
                 int64_t n_channel);

    void run(const kernels::Queue& queue);
    /// Returns the largest difference from `ref` in double over some rows, relative to the largest
    /// result.
    double error(const kernels::Queue& queue);
    /// Returns the flops of the products of weights and values, without channel weights, which
    /// belong to the layer.
    double flops() const;

private:
    kernels::Tile<float> tile(int64_t row) const;
    int64_t n_result() const;

    Ordering order_;
    kernels::Grid out_, in_;
    int64_t n_channel_;
    kernels::sphere::Stencil stencil_;
    kernels::sphere::RingLayout layout_;
    std::vector<float> values_;
    kernels::Buffer<float> x_;
    mutable kernels::Buffer<float> y_;  // (row, channel, column)
};

/// Bilinear resampling of whole fields, fixed random numbers.
class ResampleCase {
public:
    ResampleCase(kernels::Grid out, kernels::Grid in, int64_t n_channel);

    void run(const kernels::Queue& queue);
    double error(const kernels::Queue& queue);
    double n_result() const;

private:
    kernels::sphere::Resampling table_;
    int64_t n_channel_, step_in_, step_out_;
    kernels::Buffer<float> x_, y_;    // (extended row, channel, column), (row, channel, column)
    kernels::Buffer<float> scratch_;  // (thread, channel, column)
};

}  // namespace surrogate::bench
