// SPDX-License-Identifier: Apache-2.0
// Kernels of the Locality-Sensitive Hashing-Based Efficient Point Transformer with the published
// sizes, 24 channels and 6 coordinates per head, one thread.
// Build with -DSURROGATE_BENCHMARKS=ON, run build/bin/hept_bench.
//   blocks    attention in blocks and its gradients: nanoseconds per pair of tokens, and
//             multiply-adds as a fraction of a bare loop of them in the same program (differences
//             and exponentials are not counted). 400 tokens stay in the cache, 60,000 do not: rows
//             are then gathered.
//   augment   rows and hashes of a tile: nanoseconds per point, the same fraction for projections
//   order     cells: nanoseconds per token, and the time of std::sort relative to it, timed in turn
// Times are processor time of the fastest pass. Results are compared with the reference first.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>

#include "benchmarks/kernels/fma_peak.hpp"
#include "benchmarks/kernels/hept_case.hpp"

namespace {

using namespace surrogate;

/// Skips cases that this machine does not support.
bool can_run(benchmark::State& state) {
    if (state.range(0) <= static_cast<int64_t>(kernels::best_vector_level())) return true;
    state.SkipWithError("vector level not supported by this machine");
    return false;
}

kernels::Queue queue_of(int64_t level) {
    return {kernels::Backend::simd, static_cast<kernels::VectorLevel>(level), 1};
}

/// Returns the processor time of this thread, which other load on the machine affects little.
double seconds_of(const auto& work) {
    const auto now = [] {
        timespec time;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    const double begin = now();
    work();
    return now() - begin;
}

void blocks(benchmark::State& state) {
    if (!can_run(state)) return;
    const kernels::Queue queue = queue_of(state.range(0));
    bench::HeptBlocks work(state.range(1), state.range(2));
    if (!(work.error(queue) <= 1e-5)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    double peak = bench::fma_peak(queue), forward = 1e30, backward = 1e30;
    for (auto _ : state) {
        forward = std::min(forward, seconds_of([&] { work.attend(queue); }));
        backward = std::min(backward, seconds_of([&] { work.attend_backward(queue); }));
    }
    peak = std::max(peak, bench::fma_peak(queue));
    state.SetLabel(kernels::name(queue.level()));
    state.counters["pair_ns"] = forward * 1e9 / work.n_pair();
    state.counters["of_peak"] = work.attend_flops() / forward / peak;
    state.counters["backward_ns"] = backward * 1e9 / work.n_pair();
    state.counters["backward_of_peak"] = work.backward_flops() / backward / peak;
}

void augment(benchmark::State& state) {
    if (!can_run(state)) return;
    const kernels::Queue queue = queue_of(state.range(0));
    bench::HeptAugment work;
    double peak = bench::fma_peak(queue), best = 1e30;
    for (auto _ : state) best = std::min(best, seconds_of([&] { work.augment(queue); }));
    peak = std::max(peak, bench::fma_peak(queue));
    state.SetLabel(kernels::name(queue.level()));
    state.counters["point_ns"] = best * 1e9 / kernels::tile_points;
    state.counters["of_peak"] = work.flops() / best / peak;
}

void order(benchmark::State& state) {
    bench::HeptCells work(60000, state.range(0));
    if (!work.is_right()) {
        state.SkipWithError("differs from std::sort");
        return;
    }
    double best = 1e30, by_comparison = 1e30;
    for (auto _ : state) {
        best = std::min(best, seconds_of([&] { work.order(); }));
        by_comparison = std::min(by_comparison, seconds_of([&] { work.order_by_comparison(); }));
    }
    state.counters["token_ns"] = best * 1e9 / static_cast<double>(work.n_sorted());
    state.counters["std_sort_over_it"] = by_comparison / best;
}

BENCHMARK(blocks)
    ->ArgNames({"level", "tokens", "block"})
    ->ArgsProduct({{2, 3}, {400, 60000}, {100}})
    ->ArgsProduct({{2, 3}, {1024}, {32, 1024}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(augment)->ArgName("level")->Arg(2)->Arg(3)->Unit(benchmark::kMicrosecond);
BENCHMARK(order)->ArgName("cell")->Arg(20)->Arg(100)->Arg(400)->Arg(3000)->Unit(
    benchmark::kMillisecond);

}  // namespace
