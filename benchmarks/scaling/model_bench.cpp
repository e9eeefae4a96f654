// SPDX-License-Identifier: Apache-2.0
// One block and the whole model: FLARE with C = 64, 8 heads, M = 128 on N = 100,000 points, 2
// threads, and on 4,096 clouds of 64 points, through the public interface. Build with
// -DSURROGATE_BENCHMARKS=ON, run build/bin/model_bench. Reports seconds, microseconds per point and
// GFLOP/s; the result is checked against the reference backend before it is timed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>

#include "benchmarks/scaling/flare_case.hpp"
#include "surrogate/surrogate.hpp"

namespace {

using namespace surrogate;

std::vector<float> predict(Plan& plan, std::vector<float>& x) {
    const int64_t n = std::ssize(x) / 3;
    std::vector<float> y(static_cast<size_t>(n));
    plan.run_network({{"x", matrix(x.data(), n, 3)}}, {{"y", column(y.data(), n)}});
    return y;
}

/// Returns the relative L2 distance of the plan's backend from `ref` in double, on 1,000 points.
double error_against_reference(const Context& context, const Model& model, const Options& options) {
    std::vector<float> x = bench::make_inputs(1000);
    Domain domain(context, matrix(x.data(), 1000, 0));
    Plan plan(model, domain, options);
    Plan truth(model, domain, {{"backend", "ref"}, {"precision", "fp64"}});
    const std::vector<float> y = predict(plan, x), y64 = predict(truth, x);
    double difference = 0, size = 0;
    for (size_t i = 0; i < y.size(); ++i) {
        difference += std::pow(double{y[i]} - double{y64[i]}, 2);
        size += std::pow(double{y64[i]}, 2);
    }
    return std::sqrt(difference / size);
}

void run_model(benchmark::State& state, const char* reproducible, int64_t n, int64_t n_cloud) {
    bench::FlareCase flare(static_cast<int>(state.range(0)));
    Context context(Options{{"threads", "2"}});
    Model model(context, flare.path());
    const Options options{{"reproducible", reproducible}};
    const double error =
        error_against_reference(context, model, Options{{"reproducible", "false"}});
    if (!(error <= 1e-5)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    std::vector<float> x = bench::make_inputs(n);
    std::vector<int64_t> ids(static_cast<size_t>(n)), clouds(ids.size());
    for (int64_t i = 0; i < n; ++i) {
        ids[static_cast<size_t>(i)] = i;
        clouds[static_cast<size_t>(i)] = i * n_cloud / n;
    }
    Domain domain(context, {matrix(x.data(), n, 0), ids.data(), clouds.data(), nullptr});
    Plan plan(model, domain, options);
    for (auto _ : state) benchmark::DoNotOptimize(predict(plan, x));
    const double points = static_cast<double>(n) * static_cast<double>(state.iterations());
    state.SetLabel(plan.option("vector"));
    state.counters["error"] = error;
    state.counters["s_per_point"] =
        benchmark::Counter(points, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    state.counters["flop/s"] =
        benchmark::Counter(points * flare.flops(), benchmark::Counter::kIsRate);
    state.counters["pair/s"] =
        benchmark::Counter(points * flare.pairs(), benchmark::Counter::kIsRate);
}

void flare_model(benchmark::State& state, const char* reproducible) {
    run_model(state, reproducible, 100000, 1);
}
void flare_clouds(benchmark::State& state, const char* reproducible) {
    run_model(state, reproducible, 4096 * 64, 4096);
}

BENCHMARK_CAPTURE(flare_model, fast, "false")
    ->Arg(1)
    ->Arg(8)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(flare_model, reproducible, "true")
    ->Arg(8)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(flare_clouds, fast, "false")
    ->Arg(8)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
