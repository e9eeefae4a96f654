// SPDX-License-Identifier: Apache-2.0
// Softmax attention of points in balls, and SwiGLU. Build with -DSURROGATE_BENCHMARKS=ON, run
// build/bin/attention_bench.
//   ball    256 points with themselves, 8 heads of 8 channels, with and without distances
//   dense   64 queries and 8192 keys, likewise
//   wide    128 points with themselves, one head of 128 channels, and four of 32: the sphere's
//           global attention processes one row of keys at a time
//   swiglu  64 channels, 256 hidden, 1024 points
// Passes are short, about a millisecond: on a busy machine some of them are undisturbed. Before
// timing, some points are compared with the reference in double. Reports the fraction of a bare
// multiply-add loop in the same program: of_peak counts only the products, of_peak_with_exp also
// counts the twelve instructions of each exponential as multiply-adds. Rates are rates of the
// fastest pass; the peak is measured before and after, and the larger one is used.
#include <benchmark/benchmark.h>

#include "benchmarks/kernels/attention_case.hpp"
#include "benchmarks/kernels/fma_peak.hpp"
#include "benchmarks/kernels/swiglu_case.hpp"
#include "benchmarks/kernels/time_passes.hpp"

namespace {

using namespace surrogate;
using kernels::VectorLevel;

kernels::Queue queue_of(const benchmark::State& state) {
    return {kernels::Backend::simd, static_cast<VectorLevel>(state.range(0)), 1};
}

/// Reports a pass. Pairs of the pass, 0 if it has none; n_exp: exponentials per pair.
void report(benchmark::State& state, double flops, double pairs, double n_exp, const auto& pass) {
    const kernels::Queue queue = queue_of(state);
    double peak = bench::fma_peak(queue);
    pass(queue);
    const double best = bench::time_passes(state, [&] { pass(queue); });
    peak = std::max(peak, bench::fma_peak(queue));
    state.SetLabel(kernels::name(queue.level()));
    state.counters["best_us"] = best * 1e6;
    state.counters["flop/s"] = flops / best;
    state.counters["of_peak"] = flops / best / peak;
    if (pairs == 0) return;
    state.counters["pair/s"] = pairs / best;
    state.counters["of_peak_with_exp"] = (flops + 24 * n_exp * pairs) / best / peak;
}

bool is_right(benchmark::State& state, double error) {
    state.counters["error"] = error;
    if (!(error <= 1e-5)) state.SkipWithError("differs from the reference");
    return error <= 1e-5;
}

void forward(benchmark::State& state, const kernels::Heads& heads, int64_t n_key, int64_t n_query,
             bool is_biased) {
    bench::AttentionCase balls(heads, n_key, n_query, 1, is_biased);
    if (!is_right(state, balls.error(queue_of(state)))) return;
    report(state, balls.forward_flops(), balls.pairs(), 1,
           [&](const auto& queue) { balls.forward(queue); });
}

constexpr kernels::Heads narrow{8, 8, 8};

void backward(benchmark::State& state, int64_t n_key, int64_t n_query, bool is_biased) {
    bench::AttentionCase balls(narrow, n_key, n_query, 1, is_biased);
    if (!is_right(state, balls.error(queue_of(state)))) return;
    balls.forward(queue_of(state));
    report(state, balls.backward_flops(), balls.pairs(), 2,
           [&](const auto& queue) { balls.backward(queue); });
}

void swiglu(benchmark::State& state, bool is_backward) {
    bench::SwiGluCase tiles(64, 4, 1024);
    if (!is_right(state, tiles.error(queue_of(state)))) return;
    tiles.forward(queue_of(state));
    if (is_backward)
        report(state, 2 * tiles.flops(), 0, 0, [&](const auto& queue) { tiles.backward(queue); });
    else
        report(state, tiles.flops(), 0, 0, [&](const auto& queue) { tiles.run(queue); });
}

void levels(benchmark::internal::Benchmark* bench) {
    bench->ArgName("level");
    for (VectorLevel level : {VectorLevel::avx512, VectorLevel::avx2})
        if (level <= kernels::best_vector_level()) bench->Arg(static_cast<int64_t>(level));
    bench->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(forward, ball, narrow, 256, 256, false)->Apply(levels);
BENCHMARK_CAPTURE(forward, ball_biased, narrow, 256, 256, true)->Apply(levels);
BENCHMARK_CAPTURE(forward, dense, narrow, 8192, 64, false)->Apply(levels);
BENCHMARK_CAPTURE(forward, wide_1x128, kernels::Heads{1, 128, 128}, 128, 128, false)->Apply(levels);
BENCHMARK_CAPTURE(forward, wide_4x32, kernels::Heads{4, 32, 32}, 128, 128, false)->Apply(levels);
BENCHMARK_CAPTURE(backward, ball, 256, 256, false)->Apply(levels);
BENCHMARK_CAPTURE(backward, ball_biased, 256, 256, true)->Apply(levels);
BENCHMARK_CAPTURE(swiglu, run, false)->Apply(levels);
BENCHMARK_CAPTURE(swiglu, backward, true)->Apply(levels);

}  // namespace
