// SPDX-License-Identifier: Apache-2.0
// Cost of guardrails: a step of the time loop with all of them against the bare run of the plan,
// model darcy_flow on 100,000 points. The two alternate, so that the drift of a shared machine
// affects both alike. Prints medians, and the median of the ratios.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <surrogate/surrogate_timeloop.hpp>
#include <vector>

namespace {

using namespace surrogate;

struct Fields {
    std::vector<double> x, mobility, pressure;  // x: (n, 2)

    explicit Fields(int64_t n) : pressure(static_cast<size_t>(n)) {
        for (int64_t i = 0; i < n; ++i) {
            const double r = static_cast<double>(i);
            x.push_back(std::fmod(0.5 + 0.7548776662466927 * r, 1.0));  // Roberts' R2 sequence
            x.push_back(std::fmod(0.5 + 0.5698402909980532 * r, 1.0));
            mobility.push_back(7.5 + 4.4 * std::sin(0.37 * r));
        }
    }
    surrogate_points points() const {
        return {matrix(x.data(), n(), 2), nullptr, nullptr, nullptr};
    }
    int64_t n() const { return std::ssize(pressure); }
};

double seconds(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    const int64_t n = argc > 1 ? std::atoll(argv[1]) : 100000;
    const int n_round = argc > 2 ? std::atoi(argv[2]) : 31;
    Fields bare_fields(n), guarded_fields(n);
    const std::string path = SURROGATE_SHARE "/models/darcy_flow.safetensors";
    Plan bare(path, bare_fields.points()), guarded(path, guarded_fields.points());
    bare.bind_input("mobility", column(bare_fields.mobility.data(), n));
    bare.bind_output("pressure", column(bare_fields.pressure.data(), n));

    TimeLoop loop(guarded);
    loop.bind("mobility", column(guarded_fields.mobility.data(), n));
    loop.bind("pressure", column(guarded_fields.pressure.data(), n));
    loop.set_bounds("pressure", -1, 1);
    loop.conserve("volume", "pressure", 1e300);

    std::vector<double> runs, steps, ratios;
    for (int round = 0; round <= n_round; ++round) {
        const double run = seconds([&] { bare.run(); });
        const double step = seconds([&] { loop.step(1); });
        if (round == 0) continue;  // warm-up
        runs.push_back(run);
        steps.push_back(step);
        ratios.push_back(step / run);
    }
    if (bare_fields.pressure != guarded_fields.pressure) {
        std::fprintf(stderr, "the predictions of the guarded step differ from the run\n");
        return 1;
    }
    std::printf(
        "%lld points, threads %s, %d rounds\nrun    %.3f ms\nstep   %.3f ms\nratio  %.4f\n%s",
        static_cast<long long>(n), bare.option("threads").c_str(), n_round, 1e3 * median(runs),
        1e3 * median(steps), median(ratios), loop.report().c_str());
    return 0;
}
