// SPDX-License-Identifier: Apache-2.0
// Memory of a plan of FLARE for many points, beside what the plan states:
//   points_memory MODEL POINTS [reproducible]
// MODEL is a model file with three input channels and one output channel. Prints bytes per point:
// stated by the plan, that the process has more after planning and after a run than before the
// domain was made, and at most meanwhile (the peak of the process).
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "benchmarks/scaling/flare_case.hpp"
#include "benchmarks/scaling/point_formula.hpp"

namespace {

/// Returns a line of /proc/self/status in bytes: "VmRSS", "VmHWM".
int64_t process_memory(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(key + ":")) return 1024 * std::stoll(line.substr(key.size() + 1));
    }
    return 0;
}

double processor_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace surrogate;
    const int64_t n = argc > 2 ? std::atoll(argv[2]) : 0;
    if (n < 1) {
        std::fprintf(stderr, "usage: points_memory MODEL POINTS [reproducible]\n");
        return 2;
    }
    const bool is_reproducible = argc > 3 && std::string(argv[3]) == "reproducible";
    try {
        const Context context({{"threads", "1"}});
        const double begin = processor_seconds();
        std::vector<float> x = bench::make_inputs(n), y(static_cast<size_t>(n));
        std::vector<int64_t> ids = bench::global_ids(context, n);
        const int64_t before = process_memory("VmRSS");
        const Model model(context, argv[1]);
        const Domain domain(context, matrix(x.data(), n, 0), ids.data());
        Plan plan(model, domain, {{"reproducible", is_reproducible ? "true" : "false"}});
        const int64_t planned = process_memory("VmRSS");
        const double planning = processor_seconds() - begin;
        plan.run_network({{"x", matrix(x.data(), n, 3)}}, {{"y", column(y.data(), n)}});
        const double running = processor_seconds() - begin - planning;
        const auto of_point = [&](int64_t n_byte) {
            return static_cast<double>(n_byte) / static_cast<double>(n);
        };
        std::printf(
            "%lld points: the plan states %.1f bytes a point, resident after planning %.1f, "
            "after a run %.1f, at most %.1f; the process with the arrays of the caller "
            "%.2f GB; planning %.1f s, a run %.0f s of a core\n",
            static_cast<long long>(n), of_point(plan.counter("workspace_bytes")),
            of_point(planned - before), of_point(process_memory("VmRSS") - before),
            of_point(process_memory("VmHWM") - before),
            static_cast<double>(process_memory("VmHWM")) / 1e9, planning, running);
    } catch (const Error& error) {
        std::fprintf(stderr, "points_memory: %s\n", error.what());
        return 1;
    }
    return 0;
}
