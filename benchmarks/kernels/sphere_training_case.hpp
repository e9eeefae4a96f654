// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "benchmarks/kernels/sphere_attention_case.hpp"
#include "kernels/sphere/attention_backward.hpp"

namespace surrogate::bench {

/// Neighborhood attention of a grid with itself, forward and backward, without its projections, as
/// in a training step: the forward pass keeps averages and logarithms of sums; the backward pass
/// copies queries, gradients and sums to rings and computes dq, dk and dv.
class NeighborhoodTraining : public NeighborhoodLayer {
public:
    NeighborhoodTraining(const kernels::Grid& grid, const kernels::Heads& heads,
                         double theta_cutoff);

    void forward(const kernels::Queue& queue);
    /// Computes the sums of queries, and the rings that the backward pass of keys reads.
    void prepare_backward(const kernels::Queue& queue);
    void backward_queries(const kernels::Queue& queue);
    void backward_keys(const kernels::Queue& queue);
    void run(const kernels::Queue& queue) {
        forward(queue);
        prepare_backward(queue);
        backward_queries(queue);
        backward_keys(queue);
    }
    /// Returns the largest difference of dq, dk and dv of some rows from `ref` in double, relative
    /// to the largest result.
    double error(const kernels::Queue& queue);
    /// Returns 2 n_product multiply-adds per pair and channel.
    double flops(int n_product) const {
        return attention_flops(0, grid_.n_lat) / 4 * 2 * n_product;
    }

private:
    kernels::Tile<float> ring_tile(kernels::sphere::Rings<float> rings, int64_t row, int64_t first);
    kernels::sphere::QueryRings<float> queries() {
        return {{&q_layout_, q_rings_.data()},
                {&dy_layout_, dy_.data()},
                {&sums_layout_, sums_.data()}};
    }
    kernels::sphere::Rings<float> sums() { return {&sums_layout_, sums_.data()}; }
    kernels::sphere::Rings<float> dy() { return {&dy_layout_, dy_.data()}; }
    double error_of_row(int64_t row);

    kernels::sphere::Stencil back_;
    kernels::sphere::RingLayout q_layout_, dy_layout_, sums_layout_;
    kernels::Buffer<float> q_rings_, dy_, sums_, dq_, dk_, dv_;
    int64_t n_backward_scratch_;
    kernels::Buffer<float> backward_scratch_;
};

}  // namespace surrogate::bench
