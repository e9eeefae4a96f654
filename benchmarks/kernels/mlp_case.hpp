// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/mlp/mlp.hpp"

namespace surrogate::bench {

/// A residual MLP of equal widths on N points in tiles, (n_tile, width, tile_points); fixed random
/// numbers.
class MlpCase {
public:
    MlpCase(int64_t width, int n_layer, kernels::Activation activation, int64_t n_point);

    void run(const kernels::Queue& queue);
    /// Returns the largest difference from `ref` in double over all results, relative to the
    /// largest result.
    double error(const kernels::Queue& queue);

    double flops() const {
        return 2.0 * static_cast<double>(n_point_ * width_ * width_) *
               static_cast<double>(layers_.size());
    }

private:
    kernels::Tile<float> tile(kernels::Buffer<float>& data, int64_t t) const;

    int64_t width_, n_point_, n_tile_;
    kernels::Activation activation_;
    kernels::Buffer<float> parameters_, x_, y_;
    kernels::Buffer<float> scratch_;  // (thread, 2 * width, tile_points)
    std::vector<kernels::Linear<float>> layers_;
};

}  // namespace surrogate::bench
