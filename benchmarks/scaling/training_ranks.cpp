// SPDX-License-Identifier: Apache-2.0
// Training steps on one sample whose points are distributed over all ranks, one thread each:
//   mpirun -n P build/bin/training_ranks CASE POINTS LAYERS true|recompute [STEPS]
//   mpirun -n 2 build/bin/training_ranks CASE POINTS LAYERS true|recompute pair [ROUNDS]
// CASE as in training_case.hpp. The first form prints seconds and processor seconds of a step and
// the memory of planning, a step, and each rank; the second strong scaling from 1 to 2 ranks, see
// paired_ranks.hpp.
#include <mpi.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/scaling/paired_ranks.hpp"
#include "benchmarks/scaling/training_case.hpp"
#include "surrogate/surrogate_mpi.hpp"

namespace {

using namespace surrogate;

struct Run {
    std::string name;
    int64_t n_point, n_layer;
    std::string gradients;
};

/// Returns the largest resident memory of this process so far, in bytes.
double peak_bytes() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

double reduced(double local, MPI_Op operation) {
    double result = 0;
    MPI_Allreduce(&local, &result, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD);
    return result;
}

void measure_steps(const Run& run, int n_step) {
    const Context context = mpi_context(MPI_COMM_WORLD, {{"threads", "1"}});
    const double before = peak_bytes();
    const bench::TrainingCase of(run.name, run.n_layer);
    const double begin = MPI_Wtime();
    bench::TrainingRun training(context, of, run.n_point, {{"gradients", run.gradients}});
    const double planned = reduced(MPI_Wtime() - begin, MPI_MAX);
    std::vector<double> seconds, processor;
    for (int step = 0; step < n_step; ++step) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime(), used = bench::processor_seconds();
        training.run();
        seconds.push_back(reduced(MPI_Wtime() - start, MPI_MAX));
        processor.push_back(reduced(bench::processor_seconds() - used, MPI_SUM));
    }
    const double all = reduced(peak_bytes(), MPI_SUM);
    const double own = reduced(peak_bytes() - before, MPI_SUM);
    const auto plan = static_cast<double>(training.plan().counter("workspace_bytes"));
    const double planned_bytes = reduced(plan, MPI_SUM);
    if (context.rank() != 0) return;
    std::printf("%s, %lld points, %lld layers, gradients=%s, %d ranks\n", run.name.c_str(),
                static_cast<long long>(run.n_point), static_cast<long long>(run.n_layer),
                run.gradients.c_str(), context.size());
    std::printf("  planning %.2f s\n", planned);
    for (int step = 0; step < n_step; ++step) {
        std::printf("  step %d: %.3f s, %.3f processor seconds\n", step,
                    seconds[static_cast<size_t>(step)], processor[static_cast<size_t>(step)]);
    }
    std::printf("  memory of all ranks %.2f GB, of it model, points and plan %.2f GB\n", all / 1e9,
                own / 1e9);
    std::printf("  plan %.0f bytes a point\n", planned_bytes / static_cast<double>(run.n_point));
}

void measure_pair(const Run& run, int rounds) {
    const Options one_thread{{"threads", "1"}}, options{{"gradients", run.gradients}};
    const Context both = mpi_context(MPI_COMM_WORLD, one_thread), alone(one_thread);
    const bench::TrainingCase of(run.name, run.n_layer);
    bench::TrainingRun split(both, of, run.n_point, options);
    std::unique_ptr<bench::TrainingRun> whole;
    if (both.rank() == 0) {
        std::printf("training of %s, %lld points, %lld layers, %d rounds\n", run.name.c_str(),
                    static_cast<long long>(run.n_point), static_cast<long long>(run.n_layer),
                    rounds);
        whole = std::make_unique<bench::TrainingRun>(alone, of, run.n_point, options);
    }
    bench::measure_two_ranks(
        rounds, [&] { whole->run(); }, [&] { split.run(); });
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const bool is_pair = argc > 5 && std::string(argv[5]) == "pair";
    const bool is_right = argc > 4 && (!is_pair || size == 2);
    if (is_right) {
        const Run run{argv[1], std::atoll(argv[2]), std::atoll(argv[3]), argv[4]};
        if (is_pair)
            measure_pair(run, argc > 6 ? std::atoi(argv[6]) : 9);
        else
            measure_steps(run, argc > 5 ? std::atoi(argv[5]) : 3);
    } else if (rank == 0) {
        std::fprintf(stderr,
                     "usage: training_ranks CASE POINTS LAYERS true|recompute "
                     "[STEPS | pair [ROUNDS] (2 ranks)]\n");
    }
    MPI_Finalize();
    return is_right ? 0 : 2;
}
