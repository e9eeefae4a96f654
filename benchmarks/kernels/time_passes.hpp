// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace surrogate::bench {

/// Runs the passes of a benchmark and returns the seconds of the fastest.
template <class Pass>
double time_passes(benchmark::State& state, const Pass& pass) {
    using Clock = std::chrono::steady_clock;
    double best = std::numeric_limits<double>::infinity();
    for (auto _ : state) {
        const auto begin = Clock::now();
        pass();
        best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return best;
}

}  // namespace surrogate::bench
