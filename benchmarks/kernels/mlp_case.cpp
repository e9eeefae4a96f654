// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/kernels/mlp_case.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace surrogate::bench {

using namespace kernels;

namespace {
constexpr int max_threads = 256;
}

MlpCase::MlpCase(int64_t width, int n_layer, Activation activation, int64_t n_point)
    : width_(width),
      n_point_(n_point),
      n_tile_(round_up(n_point, tile_points) / tile_points),
      activation_(activation),
      parameters_(n_layer * width * (width + 1)),
      x_(n_tile_ * width * tile_points),
      y_(x_.size()),
      scratch_(max_threads * 2 * width * tile_points) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const float scale = 0.5f / std::sqrt(static_cast<float>(width));
    for (float& p : parameters_) p = scale * normal(random);
    for (float& x : x_) x = normal(random);
    for (int j = 0; j < n_layer; ++j) {
        const float* weight = parameters_.data() + j * width * (width + 1);
        layers_.push_back({width, width, weight, weight + width * width});
    }
}

Tile<float> MlpCase::tile(Buffer<float>& data, int64_t t) const {
    const int64_t count = std::min(tile_points, n_point_ - t * tile_points);
    return {data.data() + t * width_ * tile_points, {width_, count}, {tile_points, 1}};
}

void MlpCase::run(const Queue& queue) {
    const Queue one(queue.backend(), queue.level(), 1);
    const ResidualMlp<float> mlp{layers_, activation_, true, true};
    queue.parallel_for(n_tile_, [&](int64_t t, int thread) {
        const Tile<float> scratch{scratch_.data() + thread * 2 * width_ * tile_points,
                                  {2 * width_, tile_points},
                                  {tile_points, 1}};
        residual_mlp<float>(one, mlp, tile(x_, t), scratch, false, tile(y_, t));
    });
}

double MlpCase::error(const Queue& queue) {
    run(queue);
    Buffer<double> parameters(parameters_.size()), x(width_ * tile_points), y(x.size());
    Buffer<double> scratch(2 * x.size());
    std::copy(parameters_.begin(), parameters_.end(), parameters.begin());
    std::vector<Linear<double>> layers;
    for (const Linear<float>& layer : layers_) {
        const double* weight = parameters.data() + (layer.weight - parameters_.data());
        layers.push_back({width_, width_, weight, weight + width_ * width_});
    }
    double difference = 0, size = 0;
    for (int64_t t = 0; t < n_tile_; ++t) {
        const Tile<float> own = tile(y_, t);
        const auto view = [&](Buffer<double>& data, int64_t n_channel) {
            return Tile<double>{data.data(), {n_channel, own.shape[1]}, {tile_points, 1}};
        };
        std::copy_n(tile(x_, t).data, x.size(), x.begin());
        ref::residual_mlp<double>({layers, activation_, true, true}, view(x, width_),
                                  view(scratch, 2 * width_), false, view(y, width_));
        for (int64_t c = 0; c < width_; ++c)
            for (int64_t i = 0; i < own.shape[1]; ++i) {
                const double want = y[c * tile_points + i];
                difference = std::max(difference, std::abs(own(c, i) - want));
                size = std::max(size, std::abs(want));
            }
    }
    return difference / size;
}

}  // namespace surrogate::bench
