// SPDX-License-Identifier: Apache-2.0
// Runs and backward runs of plans with option gradients=inputs, 1 thread:
//   build/bin/derivative_bench CASE POINTS LAYERS [fields]
// CASE as in training_case.hpp; fields: no gradients of coordinates. Prints the least processor
// seconds of seven, and their ratio.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "benchmarks/scaling/training_case.hpp"

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: derivative_bench CASE POINTS LAYERS [fields]\n");
        return 2;
    }
    using namespace surrogate;
    const Context context(Options{{"threads", "1"}});
    const bench::TrainingCase of(argv[1], std::atoll(argv[3]));
    bench::DerivativeRun own(context, of, std::atoll(argv[2]), argc < 5);
    double run = std::numeric_limits<double>::max(), back = run;
    for (int i = 0; i < 8; ++i) {
        const double begin = bench::processor_seconds();
        own.run();
        const double middle = bench::processor_seconds();
        own.run_backward();
        if (i == 0) continue;  // warm-up
        run = std::min(run, middle - begin);
        back = std::min(back, bench::processor_seconds() - middle);
    }
    std::printf("%s, %s points, %s layers: run %.3f s, backward run %.3f s, ratio %.2f\n", argv[1],
                argv[2], argv[3], run, back, back / run);
    return 0;
}
