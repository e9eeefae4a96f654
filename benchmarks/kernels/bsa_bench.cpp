// SPDX-License-Identifier: Apache-2.0
// Kernels of Ball Sparse Attention, 8 heads of 8 channels, blocks of 8 slots, 4 choices, one
// thread. Build with -DSURROGATE_BENCHMARKS=ON, run build/bin/bsa_bench.
//   choose    a tile of groups and all blocks; `of_attend` is its time divided by the time of the
//             attention of all queries of these groups to the same blocks, timed in turn
//   slots     4,096 slots: nanoseconds per slot of each kernel, and the fraction of a bare
//             multiply-add loop in the same program for attention (exponentials are not counted)
// Times are processor time. Results are compared with the reference first. Rates and peak are those
// in the fastest pass.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "benchmarks/kernels/bsa_case.hpp"
#include "benchmarks/kernels/fma_peak.hpp"

namespace {

using namespace surrogate;

kernels::Queue queue_of(int64_t level) {
    return {kernels::Backend::simd, static_cast<kernels::VectorLevel>(level), 1};
}

/// Skips cases that this machine does not support.
bool can_run(benchmark::State& state) {
    if (state.range(0) <= static_cast<int64_t>(kernels::best_vector_level())) return true;
    state.SkipWithError("vector level not supported by this machine");
    return false;
}

/// Returns the processor time of this thread, which other load on the machine affects little.
double now() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_of(const auto& work) {
    const double begin = now();
    work();
    return now() - begin;
}

void choose(benchmark::State& state) {
    if (!can_run(state)) return;
    const kernels::Queue queue = queue_of(state.range(0));
    const auto kind = static_cast<bench::Scores>(state.range(3));
    bench::ChooseCase work(state.range(1), state.range(2), kind);
    if (!work.is_right(queue)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    const double peak = bench::fma_peak(queue);
    double best = 1e30, attend = 1e30;
    for (auto _ : state) {
        best = std::min(best, seconds_of([&] { work.choose(queue); }));
        attend = std::min(attend, seconds_of([&] { work.attend(queue); }));
    }
    state.SetLabel(kernels::name(queue.level()));
    state.counters["choose_us"] = best * 1e6;
    state.counters["of_peak"] = work.flops() / best / peak;
    state.counters["of_attend"] = best / attend;
}

void slots(benchmark::State& state) {
    if (!can_run(state)) return;
    const kernels::Queue queue = queue_of(state.range(0));
    bench::SlotsCase work(4096, state.range(1));
    const double error = work.error(queue);
    if (!(error <= 1e-5)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    const double peak = bench::fma_peak(queue);
    constexpr int n_kernel = 6;
    const char* names[n_kernel] = {
        "attend", "attend_backward", "combine", "combine_backward", "fold", "means"};
    double best[n_kernel];
    std::fill_n(best, n_kernel, 1e30);
    for (auto _ : state) {
        const double seconds[n_kernel] = {seconds_of([&] { work.attend_blocks(queue); }),
                                          seconds_of([&] { work.attend_blocks_backward(queue); }),
                                          seconds_of([&] { work.combine(queue); }),
                                          seconds_of([&] { work.combine_backward(queue); }),
                                          seconds_of([&] { work.fold(queue); }),
                                          seconds_of([&] { work.means(queue); })};
        for (int i = 0; i < n_kernel; ++i) best[i] = std::min(best[i], seconds[i]);
    }
    state.SetLabel(kernels::name(queue.level()));
    state.counters["error"] = error;
    state.counters["attend_of_peak"] = work.attend_flops() / best[0] / peak;
    state.counters["backward_of_peak"] = 2.5 * work.attend_flops() / best[1] / peak;
    for (int i = 0; i < n_kernel; ++i)
        state.counters[std::string(names[i]) + "_ns"] =
            best[i] * 1e9 / static_cast<double>(work.n_slot());
}

BENCHMARK(choose)
    ->ArgNames({"level", "blocks", "g", "scores"})
    ->ArgsProduct({{1, 2}, {8192, 512}, {8}, {0, 1, 2}})
    ->Args({2, 512, 1, 0})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(slots)
    ->ArgNames({"level", "g"})
    ->ArgsProduct({{1, 2}, {8, 1}})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
