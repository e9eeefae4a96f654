// SPDX-License-Identifier: Apache-2.0
// A long run: 100,000 guarded steps on one rank, 1 % of which are forced to be the solver's. Prints
// resident memory and time of each tenth. Fails if memory grows after the second tenth, or if the
// first prediction is not reproduced at the end.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <surrogate/surrogate_timeloop.hpp>
#include <vector>

namespace {

using namespace surrogate;

int64_t resident_kb() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
    return -1;
}

}  // namespace

int main(int argc, char** argv) {
    const int64_t n_step = argc > 1 ? std::atoll(argv[1]) : 100000, tenth = n_step / 10;
    constexpr int64_t n = 64;
    std::vector<double> x, mobility, pressure(n);
    for (int64_t i = 0; i < n; ++i) {
        x.push_back(std::fmod(0.5 + 0.7548776662466927 * static_cast<double>(i), 1.0));
        x.push_back(std::fmod(0.5 + 0.5698402909980532 * static_cast<double>(i), 1.0));
        mobility.push_back(7.5 + 4.4 * std::sin(0.37 * static_cast<double>(i)));
    }
    Plan plan(SURROGATE_SHARE "/models/darcy_flow.safetensors",
              {matrix(x.data(), n, 2), nullptr, nullptr, nullptr}, {{"threads", "1"}});
    TimeLoop loop(plan);
    loop.bind("mobility", column(mobility.data(), n));
    loop.bind("pressure", column(pressure.data(), n));
    loop.conserve("volume", "pressure", 1e300);
    loop.set("range", "fallback");
    loop.step(1);
    const std::vector<double> first = pressure;

    int64_t kb_at_rest = 0;
    for (int64_t part = 0; part < 10; ++part) {
        const auto start = std::chrono::steady_clock::now();
        for (int64_t i = 0; i < tenth; ++i) {
            const bool is_forced = i % 100 == 99;
            const double good = mobility[5];
            if (is_forced) mobility[5] = 1e6;
            const StepOutcome outcome = loop.step(1);
            mobility[5] = good;
            if ((outcome == StepOutcome::rejected) != is_forced) return 2;
            if (is_forced) loop.advance(1);
        }
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        if (part == 1) kb_at_rest = resident_kb();
        std::printf("%7lld steps  %lld kB resident  %.1f us per step\n",
                    static_cast<long long>((part + 1) * tenth),
                    static_cast<long long>(resident_kb()),
                    1e6 * time.count() / static_cast<double>(tenth));
    }
    std::printf("%s", loop.report().c_str());
    loop.step(1);
    const bool is_good = resident_kb() - kb_at_rest < 4 * 8 && pressure == first;
    std::printf("%s\n", is_good ? "good" : "memory has grown, or predictions have changed");
    return is_good ? 0 : 1;
}
