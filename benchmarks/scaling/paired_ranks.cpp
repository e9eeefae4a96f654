// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/scaling/paired_ranks.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace surrogate::bench {

namespace {

/// Computes independent multiply-adds in registers; the compiler vectorizes the inner loop for the
/// given baseline.
float multiply_adds(int64_t n) {
    float sums[64];
    for (int i = 0; i < 64; ++i) sums[i] = 1.0f + static_cast<float>(i);
    for (int64_t k = 0; k < n; ++k) {
        for (float& s : sums) s = s * 0.999f + 0.001f;
    }
    float total = 0;
    for (float s : sums) total += s;
    return total;
}

/// Returns the seconds of `work` on the slowest rank; all ranks start together.
double seconds(const std::function<void()>& work) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    work();
    double local = MPI_Wtime() - start, slowest = 0;
    MPI_Allreduce(&local, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

}  // namespace

void measure_two_ranks(int rounds, const std::function<void()>& whole,
                       const std::function<void()>& split) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int64_t n_loop = 40'000'000;
    volatile float sink = 0;
    std::vector<double> model_gain, loop_gain, ratio;
    for (int round = 0; round <= rounds; ++round) {
        const double model_1 = seconds([&] {
            if (rank == 0) whole();
        });
        const double loop_1 = seconds([&] {
            if (rank == 0) sink = multiply_adds(n_loop);
        });
        const double model_2 = seconds(split);
        const double loop_2 = seconds([&] { sink = multiply_adds(n_loop / 2); });
        if (round == 0) continue;  // warm-up
        model_gain.push_back(model_1 / model_2);
        loop_gain.push_back(loop_1 / loop_2);
        ratio.push_back(model_gain.back() / loop_gain.back());
    }
    if (rank != 0) return;
    std::printf("model      T1/T2 %.3f\nbare loop  T1/T2 %.3f\nratio      %.3f\n",
                median(model_gain), median(loop_gain), median(ratio));
}

}  // namespace surrogate::bench
