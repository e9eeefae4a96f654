// SPDX-License-Identifier: Apache-2.0
// 64 leaves in one Sequoia layer of the default sizes, on one thread, on every SIMD instruction
// set: its projections, attention, and the whole layer as in the network. Build with
// -DSURROGATE_BENCHMARKS=ON, run build/bin/sequoia_bench. Before timing, results and gradients are
// compared with the reference in double. Reports the time of the fastest pass, flops (exponentials
// counted: sequoia_case.hpp) and their fraction of a bare multiply-add loop.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>

#include "benchmarks/kernels/fma_peak.hpp"
#include "benchmarks/kernels/sequoia_case.hpp"
#include "benchmarks/kernels/time_passes.hpp"

namespace {

using namespace surrogate;
using kernels::Buffer;
using kernels::Queue;
using Strip = bench::SequoiaStrip<float>;

/// Returns the largest difference, relative to the largest number.
double difference(const Buffer<float>& got, const Buffer<double>& want) {
    double largest = 0, size = 0;
    for (int64_t i = 0; i < want.size(); ++i) {
        largest = std::max(largest, std::abs(got[i] - want[i]));
        size = std::max(size, std::abs(want[i]));
    }
    return largest / size;
}

double error(const Queue& queue, Strip& strip) {
    bench::SequoiaStrip<double> reference;
    reference.run(Queue());
    reference.backward(Queue());
    strip.run(queue);
    strip.backward(queue);
    return std::max({difference(strip.result(), reference.result()),
                     difference(strip.parents(), reference.parents()),
                     difference(strip.gradient(), reference.gradient())});
}

void strip(benchmark::State& state, void (Strip::*pass)(const Queue&), double flops) {
    const auto level = static_cast<kernels::VectorLevel>(state.range(0));
    if (level > kernels::best_vector_level()) {
        state.SkipWithError("not supported by this machine");
        return;
    }
    const Queue queue(kernels::Backend::simd, level, 1);
    Strip strip;
    if (!(error(queue, strip) <= 1e-5)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    double peak = bench::fma_peak(queue);
    const double best = bench::time_passes(state, [&] { (strip.*pass)(queue); });
    peak = std::max(peak, bench::fma_peak(queue));
    state.SetLabel(name(level));
    state.counters["best_us"] = best * 1e6;
    state.counters["flop/s"] = flops / best;
    state.counters["of_peak"] = flops / best / peak;
}

void levels(benchmark::internal::Benchmark* bench) {
    for (kernels::VectorLevel level : {kernels::VectorLevel::avx2, kernels::VectorLevel::avx512})
        bench->Arg(static_cast<int64_t>(level));
    bench->Unit(benchmark::kMicrosecond);
}

constexpr double projections = Strip::projection_flops(), core = Strip::attention_flops();
BENCHMARK_CAPTURE(strip, project, &Strip::project, projections * 3 / 4)->Apply(levels);
BENCHMARK_CAPTURE(strip, attend, &Strip::attend, core)->Apply(levels);
BENCHMARK_CAPTURE(strip, attend_of_parents, &Strip::attend_of_parents, Strip::parent_flops())
    ->Apply(levels);
BENCHMARK_CAPTURE(strip, finish, &Strip::finish, projections / 4 + Strip::mlp_flops())
    ->Apply(levels);
BENCHMARK_CAPTURE(strip, all, &Strip::run,
                  projections + core + Strip::parent_flops() + Strip::mlp_flops())
    ->Apply(levels);
BENCHMARK_CAPTURE(strip, backward, &Strip::backward, 2.5 * (core + Strip::parent_flops()))
    ->Apply(levels);

}  // namespace
