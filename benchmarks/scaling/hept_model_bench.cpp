// SPDX-License-Identifier: Apache-2.0
// HEPT in the shape of the published tracking model, 2 threads, through the public interface: four
// layers, including the redistribution of hits, hashes, sorts and the output MLP. Build with
// -DSURROGATE_BENCHMARKS=ON, run build/bin/hept_model_bench. Before timing, the same model on few
// hits is compared with the reference in double.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "benchmarks/scaling/hept_case.hpp"
#include "benchmarks/scaling/model_case.hpp"

namespace {

using namespace surrogate;

/// Returns the largest difference from `ref` in double, of the 99 % of the numbers with the
/// smallest differences: where two hashes are equal except for rounding, a hit may change its
/// block.
double error_against_reference(const Context& context, const std::string& path) {
    bench::HitRun ours(context, path, 3000, {});
    bench::HitRun truth(context, path, 3000, {{"backend", "ref"}, {"precision", "fp64"}});
    ours.run();
    truth.run();
    std::vector<double> difference;
    double largest = 0;
    for (size_t i = 0; i < ours.y().size(); ++i) {
        difference.push_back(std::abs(double{ours.y()[i]} - double{truth.y()[i]}));
        largest = std::max(largest, std::abs(double{truth.y()[i]}));
    }
    std::sort(difference.begin(), difference.end());
    return difference[difference.size() * 99 / 100] / largest;
}

void hept(benchmark::State& state) {
    Context context(Options{{"threads", "2"}});
    const bench::ModelCase model("hept", bench::hept_network(4));
    const double error = error_against_reference(context, model.path());
    if (!(error <= 1e-5)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    bench::HitRun run(context, model.path(), state.range(0), {});
    run.run();
    for (auto _ : state) run.run();
    state.SetLabel(run.plan().option("vector"));
    state.counters["error"] = error;
    state.counters["bytes_a_point"] = static_cast<double>(run.plan().counter("workspace_bytes")) /
                                      static_cast<double>(state.range(0));
}
BENCHMARK(hept)->Arg(6000)->Arg(60000)->Arg(1000000)->UseRealTime()->MeasureProcessCPUTime()->Unit(
    benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
