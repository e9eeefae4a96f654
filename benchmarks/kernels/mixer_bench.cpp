// SPDX-License-Identifier: Apache-2.0
// FLARE's mixer (encode, combine, decode) on N = 100,000 points, 8 heads of 8 channels, M latents,
// 2 threads. Build with -DSURROGATE_BENCHMARKS=ON, run build/bin/mixer_bench. Before timing, 1,000
// points are compared with the reference in double. Reports seconds, latent-point pairs per second
// (a pair is encoded and decoded), flops of the products and their fraction of a bare multiply-add
// loop in the same program; exponentials are not counted. Rates and peak are those in the fastest
// pass.
#include <benchmark/benchmark.h>

#include "benchmarks/kernels/fma_peak.hpp"
#include "benchmarks/kernels/mixer_case.hpp"
#include "benchmarks/kernels/time_passes.hpp"

namespace {

using namespace surrogate;

void mixer(benchmark::State& state) {
    const kernels::flare::Sizes sizes{8, state.range(0), 8};
    const kernels::Queue queue(kernels::Backend::simd, kernels::best_vector_level(),
                               static_cast<int>(state.range(1)));
    const double error = bench::MixerCase(sizes, 1000).error(queue);
    if (!(error <= 5e-6)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    bench::MixerCase mixer(sizes, 100000);
    const double peak = bench::fma_peak(queue);
    const double best = bench::time_passes(state, [&] { mixer.run(queue); });
    state.SetLabel(kernels::name(queue.level()));
    state.counters["error"] = error;
    state.counters["best_ms"] = best * 1e3;
    state.counters["pair/s"] = mixer.pairs() / best;
    state.counters["flop/s"] = mixer.flops() / best;
    state.counters["of_peak"] = mixer.flops() / best / peak;
}
BENCHMARK(mixer)
    ->ArgNames({"M", "threads"})
    ->Args({128, 2})
    ->Args({128, 1})
    ->Args({64, 2})
    ->Args({256, 2})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
