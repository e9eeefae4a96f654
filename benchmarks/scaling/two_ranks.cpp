// SPDX-License-Identifier: Apache-2.0
// Strong scaling from 1 to 2 ranks, against what the machine itself gains from its second core:
//   mpirun -n 2 build/bin/two_ranks [points] [rounds]
// Each round times four things in turn, so that a shared machine's drift hits all alike: the
// 8-block FLARE model with all points on rank 0, the same split over both ranks, a loop of bare
// multiply-adds on rank 0, and the loop split. Prints medians of T1/T2 for model and loop, and
// their ratio (1 = all that the second core gives).
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>

#include "benchmarks/scaling/flare_case.hpp"
#include "surrogate/surrogate.hpp"
#include "surrogate/surrogate_mpi.hpp"

namespace {

using namespace surrogate;

/// Independent multiply-adds in registers; the compiler vectorises the inner loop for the baseline
/// it is given.
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

/// Seconds of `work` on the slowest rank, all ranks starting together.
double seconds(const std::function<void()>& work) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    work();
    double local = MPI_Wtime() - start, slowest = 0;
    MPI_Allreduce(&local, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

/// A plan with its own arrays on this rank's share of n points.
struct Part {
    Part(const Context& context, const std::string& path, int64_t n)
        : x(bench::make_inputs(n)),
          y(static_cast<size_t>(n)),
          model(context, path),
          domain(context, matrix(x.data(), n, 0)),
          plan(model, domain) {}
    void run() {
        const int64_t n = std::ssize(y);
        plan.run_network({{"x", matrix(x.data(), n, 3)}}, {{"y", column(y.data(), n)}});
    }
    std::vector<float> x, y;
    Model model;
    Domain domain;
    Plan plan;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void measure(int64_t n, int rounds, int rank) {
    const Options one_thread{{"threads", "1"}};
    bench::FlareCase flare(8);
    Context both = mpi_context(MPI_COMM_WORLD, one_thread);
    Context alone(one_thread);
    Part split(both, flare.path(), n / 2);
    std::unique_ptr<Part> whole;
    if (rank == 0) whole = std::make_unique<Part>(alone, flare.path(), n);

    const int64_t n_loop = 40'000'000;
    volatile float sink = 0;
    std::vector<double> model_gain, loop_gain, ratio;
    for (int round = 0; round <= rounds; ++round) {
        const double model_1 = seconds([&] {
            if (whole) whole->run();
        });
        const double loop_1 = seconds([&] {
            if (rank == 0) sink = multiply_adds(n_loop);
        });
        const double model_2 = seconds([&] { split.run(); });
        const double loop_2 = seconds([&] { sink = multiply_adds(n_loop / 2); });
        if (round == 0) continue;  // warm-up
        model_gain.push_back(model_1 / model_2);
        loop_gain.push_back(loop_1 / loop_2);
        ratio.push_back(model_gain.back() / loop_gain.back());
    }
    if (rank == 0) {
        std::printf("points %ld, %d rounds, vector %s\n", static_cast<long>(n), rounds,
                    split.plan.option("vector").c_str());
        std::printf("model      T1/T2 %.3f\nbare loop  T1/T2 %.3f\nratio      %.3f\n",
                    median(model_gain), median(loop_gain), median(ratio));
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int64_t n = argc > 1 ? std::atol(argv[1]) : 40000;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
    if (size == 2 && n >= 2 && rounds >= 1) {
        measure(n, rounds, rank);
    } else if (rank == 0) {
        std::fprintf(stderr, "usage: mpirun -n 2 two_ranks [points >= 2] [rounds >= 1]\n");
    }
    MPI_Finalize();
    return size == 2 && n >= 2 && rounds >= 1 ? 0 : 2;
}
