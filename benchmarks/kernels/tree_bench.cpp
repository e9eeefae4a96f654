// SPDX-License-Identifier: Apache-2.0
// Trees of balls on clouds of points in three dimensions. Build with -DSURROGATE_BENCHMARKS=ON, run
// build/bin/tree_bench. Before timing, positions are compared with a plain recursion of
// std::nth_element over indices on one thread, and every pass is timed beside one recursion (small
// clouds) or a few (large ones): `plain` is the ratio of the fastest.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "benchmarks/kernels/time_passes.hpp"
#include "benchmarks/kernels/tree_case.hpp"

namespace {

using namespace surrogate;
using bench::TreeCase;

double plain_seconds(const TreeCase& points) {
    using Clock = std::chrono::steady_clock;
    double best = std::numeric_limits<double>::infinity();
    for (int pass = 0; pass < 3; ++pass) {
        const auto begin = Clock::now();
        benchmark::DoNotOptimize(points.plain());
        best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return best;
}

void tree(benchmark::State& state, const char* kind, bool is_shuffled) {
    const int64_t n = state.range(0);
    const kernels::Queue queue(kernels::Backend::ref, kernels::VectorLevel::scalar,
                               static_cast<int>(state.range(1)));
    const TreeCase points(kind, n, is_shuffled);
    const auto alone = impl::self_communicator();
    if (points.run(*alone, queue) != points.plain()) {
        state.SkipWithError("differs from a plain recursion");
        return;
    }
    const double plain = plain_seconds(points);
    const double best =
        bench::time_passes(state, [&] { benchmark::DoNotOptimize(points.run(*alone, queue)); });
    state.counters["best_ms"] = best * 1e3;
    state.counters["ns/point"] = best * 1e9 / static_cast<double>(n);
    state.counters["plain"] = plain / best;
}

void sizes(benchmark::internal::Benchmark* benchmark) {
    benchmark->ArgNames({"n", "threads"})->Unit(benchmark::kMillisecond)->UseRealTime();
    for (const int64_t n : {3586, 100000, 1000000})
        for (const int64_t n_thread : {1, 2}) benchmark->Args({n, n_thread});
}
BENCHMARK_CAPTURE(tree, volume, "volume", false)->Apply(sizes);
BENCHMARK_CAPTURE(tree, volume_shuffled_ids, "volume", true)->Apply(sizes);
BENCHMARK_CAPTURE(tree, surface, "surface", false)->Apply(sizes);
BENCHMARK_CAPTURE(tree, lattice, "lattice", false)->Apply(sizes);

}  // namespace
