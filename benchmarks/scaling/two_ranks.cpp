// SPDX-License-Identifier: Apache-2.0
// Strong scaling from 1 to 2 ranks, see paired_ranks.hpp:
//   mpirun -n 2 build/bin/two_ranks flare [rounds]              8 blocks, 40,000 points
//   mpirun -n 2 build/bin/two_ranks neighborhood|global [rounds]   the sphere's Transformer, 128 x
//                                                                  256
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "benchmarks/scaling/flare_case.hpp"
#include "benchmarks/scaling/paired_ranks.hpp"
#include "benchmarks/scaling/sphere_case.hpp"
#include "surrogate/surrogate_mpi.hpp"

namespace {

using namespace surrogate;

/// A plan of FLARE with its own arrays on this rank's share of n points.
struct FlarePart {
    FlarePart(const Context& context, const std::string& path, int64_t n)
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

void measure(const std::string& what, int rounds, int rank) {
    const Options one_thread{{"threads", "1"}};
    Context both = mpi_context(MPI_COMM_WORLD, one_thread);
    Context alone(one_thread);
    if (rank == 0) std::printf("%s, %d rounds\n", what.c_str(), rounds);
    if (what == "flare") {
        const int64_t n = 40000;
        bench::FlareCase flare(8);
        FlarePart split(both, flare.path(), n / 2);
        std::unique_ptr<FlarePart> whole;
        if (rank == 0) whole = std::make_unique<FlarePart>(alone, flare.path(), n);
        bench::measure_two_ranks(
            rounds, [&] { whole->run(); }, [&] { split.run(); });
    } else {
        const bench::SphereCase sphere(bench::paper_transformer(what));
        bench::SphereRun split(both, sphere.path(), {});
        std::unique_ptr<bench::SphereRun> whole;
        if (rank == 0) whole = std::make_unique<bench::SphereRun>(alone, sphere.path(), Options{});
        bench::measure_two_ranks(
            rounds, [&] { whole->run(); }, [&] { split.run(); });
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const std::string what = argc > 1 ? argv[1] : "";
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
    const bool is_right =
        size == 2 && rounds >= 1 && (what == "flare" || what == "neighborhood" || what == "global");
    if (is_right) {
        measure(what, rounds, rank);
    } else if (rank == 0) {
        std::fprintf(stderr,
                     "usage: mpirun -n 2 two_ranks flare|neighborhood|global [rounds >= 1]\n");
    }
    MPI_Finalize();
    return is_right ? 0 : 2;
}
