// SPDX-License-Identifier: Apache-2.0
// Cost of points that move, for models that redistribute points:
//   mpirun -n 2 build/bin/moving_points bsa|group_compression|sequoia|hept POINTS [layers]
// Prints seconds (largest over ranks) of planning, of a run, and of a run after all points have
// moved, which plans again; the last line is (planning again) / (a run).
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "benchmarks/scaling/cloud_case.hpp"
#include "benchmarks/scaling/hept_case.hpp"
#include "surrogate/surrogate_mpi.hpp"

namespace {

using namespace surrogate;

/// Returns the seconds of `work`, the largest over ranks. Collective.
template <class Work>
double seconds_of(const Work& work) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    work();
    double seconds = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

template <class Run>
void measure(const std::string& what, const bench::ModelCase& model, int64_t n, int64_t n_layer) {
    const Context context = mpi_context(MPI_COMM_WORLD, {{"threads", "1"}});
    std::unique_ptr<Run> run;
    const double plan =
        seconds_of([&] { run = std::make_unique<Run>(context, model.path(), n, Options{}); });
    run->run();
    const double one_run = seconds_of([&] { run->run(); });
    const double moved_run = seconds_of([&] {
        run->move();
        run->run();
    });
    if (context.rank() != 0) return;
    std::printf("%s, %lld points, %lld layers, %d ranks\n", what.c_str(), static_cast<long long>(n),
                static_cast<long long>(n_layer), context.size());
    std::printf("  planning            %8.3f s\n  a run               %8.3f s\n", plan, one_run);
    std::printf("  a run after a move  %8.3f s\n  planning again / run %7.2f\n", moved_run,
                (moved_run - one_run) / one_run);
}

void measure(const std::string& what, int64_t n, int64_t n_layer) {
    if (what == "hept") {
        const bench::ModelCase model("hept", bench::hept_network(n_layer));
        return measure<bench::HitRun>(what, model, n, n_layer);
    }
    const bool is_sequoia = what == "sequoia";
    const bench::ModelCase model(
        is_sequoia ? "sequoia" : "bsa",
        is_sequoia ? bench::sequoia_network(n_layer) : bench::bsa_network(what, n_layer));
    measure<bench::CloudRun>(what, model, n, n_layer);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int64_t n = argc > 2 ? std::atoll(argv[2]) : 0;
    const int64_t n_layer = argc > 3 ? std::atoll(argv[3]) : 4;
    const bool is_right = n > 0 && n_layer > 0;
    if (is_right) measure(argv[1], n, n_layer);
    if (!is_right)
        std::fprintf(stderr,
                     "usage: mpirun -n 2 moving_points MODEL POINTS [layers], MODEL: bsa, "
                     "group_compression, sequoia or hept\n");
    MPI_Finalize();
    return is_right ? 0 : 2;
}
