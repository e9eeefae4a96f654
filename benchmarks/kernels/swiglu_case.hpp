// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/buffer.hpp"
#include "kernels/mlp/swiglu.hpp"

namespace surrogate::bench {

/// SwiGLU of `width` channels and ratio * width hidden ones on points in tiles, one thread; fixed
/// random numbers.
class SwiGluCase {
public:
    SwiGluCase(int64_t width, int64_t ratio, int64_t n_point);

    void run(const kernels::Queue& queue);
    void forward(const kernels::Queue& queue);   ///< with the saved values of all points
    void backward(const kernels::Queue& queue);  ///< needs forward
    /// Returns the largest difference from `ref` in double in the first tile, relative to the
    /// largest result.
    double error(const kernels::Queue& queue);

    /// Returns the flops of the three products.
    double flops() const { return 6.0 * static_cast<double>(n_point_ * width_ * n_hidden_); }

private:
    kernels::Tile<float> tile(kernels::Buffer<float>& data, int64_t t, int64_t n_channel) const;
    kernels::Tile<float> scratch(int64_t n_channel);
    int64_t n_tile() const { return n_point_ / kernels::tile_points; }

    int64_t width_, n_hidden_, n_point_;
    kernels::Buffer<float> parameters_, x_, y_, dy_, dx_, saved_, scratch_;
    kernels::Buffer<double> sums_;
    kernels::SwiGlu<float> mlp_;
    std::array<kernels::LinearGradient, 3> gradients_;
};

}  // namespace surrogate::bench
