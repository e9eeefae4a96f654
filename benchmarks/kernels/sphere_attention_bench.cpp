// SPDX-License-Identifier: Apache-2.0
// Layers of attention on the sphere with their four projections. Build with
// -DSURROGATE_BENCHMARKS=ON, run build/bin/sphere_attention_bench.
//   neighborhood  128 x 256 equiangular -> itself, C channels, cutoff 7 / sqrt(pi) * pi / 127
//   global        64 x 128 equiangular -> itself
//   training      attention of `neighborhood` forward and backward, without projections: 2 products
//   of
//                 length C per pair forward, 3 for dq, 4 for dk and dv
// Before timing, some points are compared with the reference in double. Reports seconds per layer,
// flops of projections, scores and averages and their fraction of a bare multiply-add loop in the
// same program, for the layer and (attention_of_peak) for attention alone; exponentials are not
// counted. Rates and peak are those in the fastest pass.
#include <benchmark/benchmark.h>

#include <cmath>
#include <numbers>

#include "benchmarks/kernels/fma_peak.hpp"
#include "benchmarks/kernels/sphere_attention_case.hpp"
#include "benchmarks/kernels/sphere_training_case.hpp"
#include "benchmarks/kernels/time_passes.hpp"

namespace {

using namespace surrogate;
using kernels::GridKind;

kernels::Heads heads_of(const benchmark::State& state) {
    const int64_t n_head = state.range(1), n_dim = state.range(0) / n_head;
    return {n_head, n_dim, n_dim};
}

double seconds_of(const auto& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Times layer.run(); attend() is attention alone.
void report(benchmark::State& state, const kernels::Queue& queue, auto& layer, const auto& attend,
            double attention_flops) {
    const double error = layer.error(queue);
    if (!(error <= 1e-5)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    const double peak = bench::fma_peak(queue);
    double attention = seconds_of(attend);
    for (int i = 0; i < 5; ++i) attention = std::min(attention, seconds_of(attend));
    const double best = bench::time_passes(state, [&] { layer.run(queue); });
    const double flops = attention_flops + layer.projection_flops();
    state.SetLabel(kernels::name(queue.level()));
    state.counters["error"] = error;
    state.counters["best_ms"] = best * 1e3;
    state.counters["flop/s"] = flops / best;
    state.counters["of_peak"] = flops / best / peak;
    state.counters["attention_ms"] = attention * 1e3;
    state.counters["attention_of_peak"] = attention_flops / attention / peak;
}

kernels::Queue queue_of(const benchmark::State& state) {
    return {kernels::Backend::simd, kernels::best_vector_level(), static_cast<int>(state.range(2))};
}

void neighborhood(benchmark::State& state) {
    constexpr int64_t n_lat = 128;
    const double cutoff = 7 / std::sqrt(std::numbers::pi) * std::numbers::pi / (n_lat - 1);
    bench::NeighborhoodLayer layer({GridKind::equiangular, n_lat, 2 * n_lat}, heads_of(state),
                                   cutoff);
    const kernels::Queue queue = queue_of(state);
    report(
        state, queue, layer, [&] { layer.attend(queue, 0, n_lat); },
        layer.attention_flops(0, n_lat));
}

void global(benchmark::State& state) {
    bench::GlobalLayer layer({GridKind::equiangular, 64, 128}, heads_of(state));
    const kernels::Queue queue = queue_of(state);
    report(
        state, queue, layer, [&] { layer.attend(queue); }, layer.attention_flops());
}

/// Returns the time of the fastest of some passes of a part.
double best_of(const auto& part) {
    double best = seconds_of(part);
    for (int i = 0; i < 5; ++i) best = std::min(best, seconds_of(part));
    return best;
}

void training(benchmark::State& state) {
    constexpr int64_t n_lat = 128;
    const double cutoff = 7 / std::sqrt(std::numbers::pi) * std::numbers::pi / (n_lat - 1);
    bench::NeighborhoodTraining layer({GridKind::equiangular, n_lat, 2 * n_lat}, heads_of(state),
                                      cutoff);
    const kernels::Queue queue = queue_of(state);
    const double error = layer.error(queue);
    if (!(error <= 2e-5)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    const double peak = bench::fma_peak(queue);
    const auto share = [&](int n_product, const auto& part) {
        return layer.flops(n_product) / best_of(part) / peak;
    };
    state.counters["forward_of_peak"] = share(2, [&] { layer.forward(queue); });
    state.counters["queries_of_peak"] = share(3, [&] { layer.backward_queries(queue); });
    state.counters["keys_of_peak"] = share(4, [&] { layer.backward_keys(queue); });
    state.counters["prepare_ms"] = 1e3 * best_of([&] { layer.prepare_backward(queue); });
    const double best = bench::time_passes(state, [&] { layer.run(queue); });
    state.SetLabel(kernels::name(queue.level()));
    state.counters["error"] = error;
    state.counters["best_ms"] = best * 1e3;
    state.counters["of_peak"] = layer.flops(9) / best / peak;
}

void shapes(benchmark::internal::Benchmark* layer) {
    layer->ArgNames({"C", "heads", "threads"});
    for (int64_t threads : {2, 1}) layer->Args({128, 1, threads});
    for (int64_t heads : {4, 16}) layer->Args({128, heads, 2});
    layer->Args({32, 1, 2});
    layer->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(neighborhood)->Apply(shapes);
BENCHMARK(global)->Apply(shapes);
BENCHMARK(training)->Apply(shapes);

}  // namespace
