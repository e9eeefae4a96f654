// SPDX-License-Identifier: Apache-2.0
// Convolutions and resampling of the Spherical Transformer at 128 x 256: the encoder's filter on 3
// fields, the decoder's filter after its channel weights (3 fields of 9 functions), the filter of a
// channel-by-channel convolution, and the resampling of 128 channels. Build with
// -DSURROGATE_BENCHMARKS=ON, run build/bin/sphere_convolve_bench. Before timing, rows are compared
// with the reference in double. Rates, and the peak of a bare multiply-add loop in the same
// program, are those in the fastest pass.
#include <benchmark/benchmark.h>

#include <numbers>

#include "benchmarks/kernels/fma_peak.hpp"
#include "benchmarks/kernels/sphere_convolve_case.hpp"
#include "benchmarks/kernels/time_passes.hpp"

namespace {

using namespace surrogate;
using bench::ConvolveCase;
using enum kernels::GridKind;

constexpr kernels::Grid fine{equiangular, 128, 256}, coarse{legendre_gauss, 64, 128};
constexpr double cut_fine = 3 * std::numbers::pi / 127, cut_coarse = 3 * std::numbers::pi / 63;

kernels::Queue queue_of(const benchmark::State& state) {
    return kernels::Queue(kernels::Backend::simd, kernels::best_vector_level(),
                          static_cast<int>(state.range(0)));
}

void convolve(benchmark::State& state, ConvolveCase::Ordering order, kernels::Grid out,
              kernels::Grid in, double theta_cutoff, int64_t n_channel) {
    const kernels::Queue queue = queue_of(state);
    ConvolveCase layer(order, out, in, theta_cutoff, n_channel);
    const double error = layer.error(queue);
    if (!(error <= 1e-6)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    const double peak = bench::fma_peak(queue);
    const double best = bench::time_passes(state, [&] { layer.run(queue); });
    state.SetLabel(kernels::name(queue.level()));
    state.counters["error"] = error;
    state.counters["best_ms"] = best * 1e3;
    state.counters["flop/s"] = layer.flops() / best;
    state.counters["of_peak"] = layer.flops() / best / peak;
}

void resample(benchmark::State& state, kernels::Grid out, kernels::Grid in, int64_t n_channel) {
    const kernels::Queue queue = queue_of(state);
    bench::ResampleCase layer(out, in, n_channel);
    const double error = layer.error(queue);
    if (!(error <= 1e-6)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    const double best = bench::time_passes(state, [&] { layer.run(queue); });
    state.SetLabel(kernels::name(queue.level()));
    state.counters["error"] = error;
    state.counters["best_ms"] = best * 1e3;
    state.counters["result/s"] = layer.n_result() / best;
}

void on_threads(benchmark::internal::Benchmark* benchmark) {
    benchmark->ArgName("threads")->Arg(2)->Arg(1)->MeasureProcessCPUTime()->UseRealTime()->Unit(
        benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(convolve, encoder, ConvolveCase::geometry_first, coarse, fine, cut_fine, 3)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(convolve, decoder, ConvolveCase::weights_first, fine, fine, cut_coarse, 3)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(convolve, by_channel, ConvolveCase::geometry_first, coarse, coarse, cut_coarse,
                  64)
    ->Apply(on_threads);
BENCHMARK_CAPTURE(resample, doubling, fine, coarse, 128)->Apply(on_threads);
BENCHMARK_CAPTURE(resample, fourfold, fine, kernels::Grid{equiangular, 32, 64}, 128)
    ->Apply(on_threads);

}  // namespace
