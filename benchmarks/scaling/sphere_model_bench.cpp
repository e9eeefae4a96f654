// SPDX-License-Identifier: Apache-2.0
// Attention on the Sphere in the paper's configuration, 2 threads, through the public interface:
// single attention layers with their projections, and whole Transformers. Build with
// -DSURROGATE_BENCHMARKS=ON, run build/bin/sphere_model_bench. Before timing, a small model of the
// same kind is compared with the reference in double.
#include <benchmark/benchmark.h>

#include <cmath>

#include "benchmarks/scaling/sphere_case.hpp"

namespace {

using namespace surrogate;

/// Returns the relative L2 distance from `ref` in double.
double error_against_reference(const Context& context, const nlohmann::json& network) {
    const bench::ModelCase small("sphere", network);
    bench::SphereRun ours(context, small.path(), {});
    bench::SphereRun truth(context, small.path(), {{"backend", "ref"}, {"precision", "fp64"}});
    ours.run();
    truth.run();
    double difference = 0, size = 0;
    for (size_t i = 0; i < ours.y().size(); ++i) {
        difference += std::pow(double{ours.y()[i]} - double{truth.y()[i]}, 2);
        size += std::pow(double{truth.y()[i]}, 2);
    }
    return std::sqrt(difference / size);
}

void time_case(benchmark::State& state, const nlohmann::json& network, const nlohmann::json& small,
               const char* reproducible) {
    Context context(Options{{"threads", "2"}});
    const double error = error_against_reference(context, small);
    if (!(error <= 5e-6)) {
        state.SkipWithError("differs from the reference");
        return;
    }
    const bench::ModelCase model("sphere", network);
    bench::SphereRun run(context, model.path(), {{"reproducible", reproducible}});
    run.run();
    for (auto _ : state) run.run();
    state.SetLabel(run.plan().option("vector"));
    state.counters["error"] = error;
}

void attention(benchmark::State& state, const char* mode, int64_t n_lat, int64_t n_lon) {
    time_case(state, bench::attention_layer(mode, n_lat, n_lon),
              bench::attention_layer(mode, 12, 24), "false");
}

void transformer(benchmark::State& state, const char* mode, const char* reproducible) {
    time_case(state, bench::paper_transformer(mode), bench::paper_transformer(mode, 24, 48),
              reproducible);
}

#define SURROGATE_TIMED ->UseRealTime()->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond)
BENCHMARK_CAPTURE(attention, neighborhood_128x256, "neighborhood", 128, 256) SURROGATE_TIMED;
BENCHMARK_CAPTURE(attention, global_64x128, "global", 64, 128) SURROGATE_TIMED;
BENCHMARK_CAPTURE(transformer, neighborhood, "neighborhood", "false") SURROGATE_TIMED;
BENCHMARK_CAPTURE(transformer, neighborhood_reproducible, "neighborhood", "true") SURROGATE_TIMED;
BENCHMARK_CAPTURE(transformer, global, "global", "false") SURROGATE_TIMED;

}  // namespace

BENCHMARK_MAIN();
