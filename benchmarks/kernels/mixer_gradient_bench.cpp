// SPDX-License-Identifier: Apache-2.0
// FLARE's mixer forward and backward on N = 50,000 points, 8 heads of 8 channels, M latents. Build
// with -DSURROGATE_BENCHMARKS=ON, run build/bin/mixer_gradient_bench. Before timing, gradients of
// 1,000 points are compared with the reference in double. Reports the numbers of mixer_bench: flops
// count products, not exponentials.
#include <benchmark/benchmark.h>

#include "benchmarks/kernels/fma_peak.hpp"
#include "benchmarks/kernels/mixer_gradient_case.hpp"
#include "benchmarks/kernels/time_passes.hpp"

namespace {

using namespace surrogate;

kernels::Queue queue_of(int64_t n_thread) {
    return kernels::Queue(kernels::Backend::simd, kernels::best_vector_level(),
                          static_cast<int>(n_thread));
}

/// Times pass(case, queue), which has `flops` flops.
template <class Pass>
void time_case(benchmark::State& state, double (bench::MixerGradientCase::*flops)() const,
               const Pass& pass) {
    const kernels::flare::Sizes sizes{64 / state.range(2), state.range(0), state.range(2)};
    const kernels::Queue queue = queue_of(state.range(1));
    const double error = bench::MixerGradientCase(sizes, 1000).gradient_error(queue);
    if (!(error <= 2e-5)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    bench::MixerGradientCase mixer(sizes, 50000);
    mixer.run(queue);
    mixer.backward(queue);
    const double peak = bench::fma_peak(queue);
    const double best = bench::time_passes(state, [&] { pass(mixer, queue); });
    state.SetLabel(kernels::name(queue.level()));
    state.counters["error"] = error;
    state.counters["best_ms"] = best * 1e3;
    state.counters["pair/s"] = mixer.pairs() / best;
    state.counters["of_peak"] = (mixer.*flops)() / best / peak;
}

void decode_backward(benchmark::State& state) {
    time_case(state, &bench::MixerGradientCase::decode_flops,
              [](auto& mixer, const auto& queue) { mixer.decode_backward(queue); });
}

void mix_backward(benchmark::State& state) {
    time_case(state, &bench::MixerGradientCase::mix_flops,
              [](auto& mixer, const auto& queue) { mixer.mix_backward(queue); });
}

/// Times the forward and the backward pass, the mixer's part of a training step.
void mixer_step(benchmark::State& state) {
    time_case(state, &bench::MixerGradientCase::step_flops, [](auto& mixer, const auto& queue) {
        mixer.run(queue);
        mixer.backward(queue);
    });
}

void cases(benchmark::internal::Benchmark* benchmark) {
    benchmark->ArgNames({"M", "threads", "D"})
        ->Args({128, 2, 8})
        ->Args({128, 1, 8})
        ->Args({64, 1, 8})
        ->Args({256, 1, 8})
        ->Args({128, 1, 4})
        ->Args({128, 1, 16})
        ->Args({128, 1, 32})
        ->MeasureProcessCPUTime()
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
}
BENCHMARK(decode_backward)->Apply(cases);
BENCHMARK(mix_backward)->Apply(cases);
BENCHMARK(mixer_step)->Apply(cases);

}  // namespace
