// SPDX-License-Identifier: Apache-2.0
// Ball Sparse Attention and Sequoia in their papers' configurations, 2 threads, through the public
// interface: models of one layer, with embedding, head and the redistribution of points to the tree
// and back. Build with -DSURROGATE_BENCHMARKS=ON, run build/bin/tree_model_bench. Before timing,
// the same model on few points is compared with the reference in double.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "benchmarks/scaling/cloud_case.hpp"

namespace {

using namespace surrogate;

/// Returns the relative L2 distance from `ref` in double over the middle of the differences: single
/// and double precision may choose different blocks in near ties, at few points.
double error_against_reference(const Context& context, const std::string& path) {
    bench::CloudRun ours(context, path, 1500, {});
    bench::CloudRun truth(context, path, 1500, {{"backend", "ref"}, {"precision", "fp64"}});
    ours.run();
    truth.run();
    std::vector<double> difference;
    double size = 0;
    for (size_t i = 0; i < ours.y().size(); ++i) {
        difference.push_back(std::abs(double{ours.y()[i]} - double{truth.y()[i]}));
        size += std::pow(double{truth.y()[i]}, 2);
    }
    std::nth_element(difference.begin(), difference.begin() + std::ssize(difference) / 2,
                     difference.end());
    return difference[difference.size() / 2] /
           std::sqrt(size / static_cast<double>(difference.size()));
}

void time_model(benchmark::State& state, const std::string& family, const nlohmann::json& network) {
    Context context(Options{{"threads", "2"}});
    const bench::ModelCase model(family, network);
    const double error = error_against_reference(context, model.path());
    if (!(error <= 5e-6)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    bench::CloudRun run(context, model.path(), state.range(0), {});
    run.run();
    for (auto _ : state) run.run();
    state.SetLabel(run.plan().option("vector"));
    state.counters["error"] = error;
    state.counters["bytes_a_point"] = static_cast<double>(run.plan().counter("workspace_bytes")) /
                                      static_cast<double>(state.range(0));
}

void bsa(benchmark::State& state, const char* variant) {
    time_model(state, "bsa", bench::bsa_network(variant, 1));
}

void sequoia(benchmark::State& state) {
    time_model(state, "sequoia", bench::sequoia_network(1));
}

#define SURROGATE_TIMED ->UseRealTime()->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond)
#define SURROGATE_SIZES ->Arg(1024)->Arg(2048)->Arg(4096)->Arg(16384)->Arg(65536)
BENCHMARK_CAPTURE(bsa, bsa, "bsa") SURROGATE_SIZES SURROGATE_TIMED;
BENCHMARK_CAPTURE(bsa, group_compression, "group_compression") SURROGATE_SIZES SURROGATE_TIMED;
BENCHMARK_CAPTURE(bsa, no_group, "no_group")->Arg(4096) SURROGATE_TIMED;
BENCHMARK_CAPTURE(bsa, ball, "ball") SURROGATE_SIZES SURROGATE_TIMED;
BENCHMARK_CAPTURE(bsa, full, "full")->Arg(1024)->Arg(2048)->Arg(4096)->Arg(16384) SURROGATE_TIMED;
BENCHMARK(sequoia)->Arg(4096)->Arg(65536) SURROGATE_TIMED;

}  // namespace

BENCHMARK_MAIN();
