// SPDX-License-Identifier: Apache-2.0
// Residual MLP of 5 layers of 64 channels (K, V and FFN of the published FLARE models) on N =
// 100,000 points, 2 threads. Build with -DSURROGATE_BENCHMARKS=ON, run build/bin/mlp_bench. Before
// timing, 1,000 points are compared with the reference in double. Reports seconds, flops of the
// products and their fraction of a bare multiply-add loop in the same program; activations are not
// counted. Rates and peak are those in the fastest pass.
#include <benchmark/benchmark.h>

#include "benchmarks/kernels/fma_peak.hpp"
#include "benchmarks/kernels/mlp_case.hpp"
#include "benchmarks/kernels/time_passes.hpp"

namespace {

using namespace surrogate;

void mlp(benchmark::State& state, kernels::Activation activation) {
    const kernels::Queue queue(kernels::Backend::simd, kernels::best_vector_level(),
                               static_cast<int>(state.range(0)));
    const double error = bench::MlpCase(64, 5, activation, 1000).error(queue);
    if (!(error <= 5e-6)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    bench::MlpCase chain(64, 5, activation, 100000);
    const double peak = bench::fma_peak(queue);
    const double best = bench::time_passes(state, [&] { chain.run(queue); });
    state.SetLabel(kernels::name(queue.level()));
    state.counters["error"] = error;
    state.counters["best_ms"] = best * 1e3;
    state.counters["flop/s"] = chain.flops() / best;
    state.counters["of_peak"] = chain.flops() / best / peak;
}
BENCHMARK_CAPTURE(mlp, gelu, kernels::Activation::gelu_tanh)
    ->ArgName("threads")
    ->Arg(2)
    ->Arg(1)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(mlp, identity, kernels::Activation::identity)
    ->ArgName("threads")
    ->Arg(2)
    ->Arg(1)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
