// SPDX-License-Identifier: Apache-2.0
// Layers of one tile, 64 points of 64 channels in cache, forward and backward on one thread; the
// residual MLP has 5 layers. Build with -DSURROGATE_BENCHMARKS=ON, run build/bin/layer_bench.
// Before timing, results and gradients are compared with the reference. Reports the time of the
// fastest pass and, for products, flops and their fraction of a bare multiply-add loop.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "benchmarks/kernels/fma_peak.hpp"
#include "benchmarks/kernels/time_passes.hpp"
#include "kernels/base/buffer.hpp"
#include "kernels/mlp/mlp.hpp"
#include "kernels/norm/norm.hpp"

namespace {

using namespace surrogate;
using namespace surrogate::kernels;

constexpr int64_t width = 64, n_layer = 5, n_parameter = width * (width + 1);
constexpr Activation gelu = Activation::gelu_tanh;

/// Memory of all layers; `y` is the result of every row, forward or backward.
struct Case {
    Case() {
        std::mt19937 random(1);
        std::normal_distribution<float> normal;
        for (float& value : parameters) value = normal(random) / 16;
        for (float& value : x) value = normal(random);
        for (float& value : dy) value = normal(random);
        for (int64_t j = 0; j < n_layer; ++j) {
            const float* weight = parameters.data() + j * n_parameter;
            double* gradient = gradients.data() + j * n_parameter;
            layers.push_back({width, width, weight, weight + width * width});
            layer_gradients.push_back({gradient, gradient + width * width});
        }
    }
    static Tile<float> tile(Buffer<float>& data) {
        return make_view(data.data(), data.size() / tile_points, tile_points);
    }
    ResidualMlp<float> mlp() const { return {layers, gelu, true, true}; }
    Norm<float> norm() const {
        return {NormKind::layer, 1e-5f, parameters.data(), parameters.data() + width};
    }

    Buffer<float> parameters{n_layer * n_parameter};
    Buffer<double> gradients{n_layer * n_parameter};
    Buffer<float> x{width * tile_points}, dy{width * tile_points}, y{width * tile_points};
    Buffer<float> scratch{2 * width * tile_points};
    Buffer<float> saved{2 * (n_layer - 1) * width * tile_points};
    std::vector<Linear<float>> layers;
    std::vector<LinearGradient> layer_gradients;
};

using Pass = void (*)(const Queue&, Case&);

void linear_forward(const Queue& queue, Case& c) {
    linear<float>(queue, c.layers[0], c.tile(c.x), {}, c.tile(c.y));
}
void linear_input(const Queue& queue, Case& c) {
    linear_backward<float>(queue, c.layers[0], c.tile(c.dy), {}, false, c.tile(c.y));
}
void linear_parameters(const Queue& queue, Case& c) {
    linear_gradient<float>(queue, c.tile(c.x), c.tile(c.dy), c.layer_gradients[0]);
}
void gelu_forward(const Queue& queue, Case& c) {
    activate<float>(queue, gelu, c.tile(c.x), c.tile(c.y));
}
void gelu_backward(const Queue& queue, Case& c) {
    activate_backward<float>(queue, gelu, c.tile(c.x), c.tile(c.dy), c.tile(c.y));
}
void norm_forward(const Queue& queue, Case& c) {
    normalise<float>(queue, c.norm(), c.tile(c.x), c.tile(c.y));
}
void norm_backward(const Queue& queue, Case& c) {
    normalise_backward<float>(queue, c.norm(), c.tile(c.x), c.tile(c.dy), {}, c.tile(c.y),
                              {c.gradients.data(), c.gradients.data() + width});
}
void mlp_inference(const Queue& queue, Case& c) {
    residual_mlp<float>(queue, c.mlp(), c.tile(c.x), c.tile(c.scratch), false, c.tile(c.y));
}
void mlp_forward(const Queue& queue, Case& c) {
    residual_mlp_forward<float>(queue, c.mlp(), c.tile(c.x), c.tile(c.saved), false, c.tile(c.y));
}
/// Runs the backward pass on the values that mlp_forward() saved in the check.
void mlp_backward(const Queue& queue, Case& c) {
    residual_mlp_backward<float>(queue, c.mlp(), c.tile(c.x), c.tile(c.saved), c.tile(c.dy),
                                 c.layer_gradients, c.tile(c.scratch), false, c.tile(c.y));
}

/// Returns the largest difference of y and of the gradients from the reference, relative to the
/// largest number.
double error(const Queue& queue, Pass pass, Case& c) {
    Case reference;
    mlp_forward(Queue(), reference);
    mlp_forward(queue, c);
    pass(Queue(), reference);
    pass(queue, c);
    double difference = 0, size = 0;
    const auto compare = [&](const auto& got, const auto& want) {
        for (int64_t i = 0; i < want.size(); ++i) {
            const double value = want[i];
            difference = std::max(difference, std::abs(got[i] - value));
            size = std::max(size, std::abs(value));
        }
    };
    compare(c.y, reference.y);
    compare(c.gradients, reference.gradients);
    return difference / size;
}

/// Times a layer. n_product: matrix products of width x width per point.
void layer(benchmark::State& state, Pass pass, double n_product) {
    const Queue queue(Backend::simd, best_vector_level(), 1);
    Case c;
    if (!(error(queue, pass, c) <= 1e-5)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    const double flops = n_product * 2 * static_cast<double>(width * width * tile_points);
    const double peak = bench::fma_peak(queue);
    const double best = bench::time_passes(state, [&] { pass(queue, c); });
    state.SetLabel(name(queue.level()));
    state.counters["best_us"] = best * 1e6;
    state.counters["flop/s"] = flops / best;
    state.counters["of_peak"] = flops / best / peak;
}
BENCHMARK_CAPTURE(layer, linear, linear_forward, 1);
BENCHMARK_CAPTURE(layer, linear_backward, linear_input, 1);
BENCHMARK_CAPTURE(layer, linear_gradient, linear_parameters, 1);
BENCHMARK_CAPTURE(layer, gelu, gelu_forward, 0);
BENCHMARK_CAPTURE(layer, gelu_backward, gelu_backward, 0);
BENCHMARK_CAPTURE(layer, norm, norm_forward, 0);
BENCHMARK_CAPTURE(layer, norm_backward, norm_backward, 0);
BENCHMARK_CAPTURE(layer, mlp, mlp_inference, 5);
BENCHMARK_CAPTURE(layer, mlp_forward, mlp_forward, 5);
BENCHMARK_CAPTURE(layer, mlp_backward, mlp_backward, 10);

}  // namespace
