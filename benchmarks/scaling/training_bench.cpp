// SPDX-License-Identifier: Apache-2.0
// Training steps of Ball Sparse Attention, Sequoia and HEPT, 2 threads, through the public
// interface: forward pass, mean squared error, backward pass, AdamW. Layers between embedding and
// head. Build with -DSURROGATE_BENCHMARKS=ON, run build/bin/training_bench. Tests compare the
// gradients with the official codes.
#include <benchmark/benchmark.h>

#include "benchmarks/scaling/training_case.hpp"

namespace {

using namespace surrogate;

void step(benchmark::State& state, const char* name, int64_t n_layer) {
    Context context(Options{{"threads", "2"}});
    const bench::TrainingCase of(name, n_layer);
    bench::TrainingRun run(context, of, state.range(0), {{"gradients", "true"}});
    run.run();
    for (auto _ : state) run.run();
    state.SetLabel(run.plan().option("vector"));
    state.counters["bytes_a_point_and_layer"] =
        static_cast<double>(run.plan().counter("workspace_bytes")) /
        static_cast<double>(state.range(0) * n_layer);
}

#define SURROGATE_TIMED ->UseRealTime()->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond)
BENCHMARK_CAPTURE(step, bsa, "bsa", 1)->Arg(4096) SURROGATE_TIMED;
BENCHMARK_CAPTURE(step, group_compression, "group_compression", 1)->Arg(4096) SURROGATE_TIMED;
BENCHMARK_CAPTURE(step, sequoia, "sequoia", 1)->Arg(4096) SURROGATE_TIMED;
BENCHMARK_CAPTURE(step, hept, "hept", 4)->Arg(6000) SURROGATE_TIMED;

}  // namespace

BENCHMARK_MAIN();
