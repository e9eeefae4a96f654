// SPDX-License-Identifier: Apache-2.0
// Forward pass, backward pass and the sums of a training step of FLARE, without its optimizer: one
// block between input and output projections, C = 64, 8 heads, M = 128, N = 50,000 points,
// gradients of weights and inputs. Build with -DSURROGATE_BENCHMARKS=ON, run
// build/bin/flare_training_bench. Before timing, gradients of 1,000 points are compared with
// gradients in double.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "benchmarks/scaling/flare_case.hpp"
#include "tests/libsurrogate/flare/flare_gradients.hpp"

namespace {

using namespace surrogate;

std::vector<int64_t> first_rows(int64_t n) {
    std::vector<int64_t> rows(static_cast<size_t>(n));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

/// Returns the relative L2 distance of all gradients of weights from gradients in double, on 1,000
/// points.
double error_against_double(const Context& context, const Model& model,
                            const test::GradientWay& way) {
    test::FlareGradients got(context, model, first_rows(1000), way);
    test::FlareGradients want(context, model, first_rows(1000), {});
    if (!got.run() || !want.run()) return std::nan("");
    const std::vector<double> a = got.total(), b = want.total();
    double difference = 0, size = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        difference += std::pow(a[i] - b[i], 2);
        size += std::pow(b[i], 2);
    }
    return std::sqrt(difference / size);
}

void flare_step(benchmark::State& state) {
    const int n_thread = static_cast<int>(state.range(1));
    const bench::FlareCase flare(static_cast<int>(state.range(0)));
    const Context context(Options{{"threads", std::to_string(n_thread)}});
    const Model model(context, flare.path());
    const test::GradientWay way{.precision = "fp32", .queue = test::simd(n_thread)};
    const double error = error_against_double(context, model, way);
    if (!(error <= 1e-4)) {
        state.SkipWithError("differs from double");
        return;
    }
    test::FlareGradients step(context, model, first_rows(50000), way);
    for (auto _ : state) benchmark::DoNotOptimize(step.run());
    state.SetLabel(kernels::name(way.queue.level()));
    state.counters["error"] = error;
}
BENCHMARK(flare_step)
    ->ArgNames({"blocks", "threads"})
    ->Args({1, 2})
    ->Args({1, 1})
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
