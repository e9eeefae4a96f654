// SPDX-License-Identifier: Apache-2.0
// Strong scaling from 1 to 2 ranks, see paired_ranks.hpp:
//   mpirun -n 2 build/bin/two_ranks CASE [rounds]
//     flare                            8 blocks, 40,000 points
//     neighborhood, global             the sphere's Transformer, 128 x 256
//     bsa, group_compression, sequoia  2 layers, 65,536 points
//     hept                             the published tracking model, 60,000 hits
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "benchmarks/scaling/cloud_case.hpp"
#include "benchmarks/scaling/flare_case.hpp"
#include "benchmarks/scaling/hept_case.hpp"
#include "benchmarks/scaling/paired_ranks.hpp"
#include "benchmarks/scaling/sphere_case.hpp"
#include "surrogate/surrogate_mpi.hpp"

namespace {

using namespace surrogate;

/// A plan of FLARE with its own arrays on this rank's share of n points, n a multiple of the ranks.
struct FlarePart {
    FlarePart(const Context& context, const std::string& path, int64_t n)
        : x(bench::make_inputs(n / context.size())),
          y(x.size() / 3),
          model(context, path),
          domain(context, matrix(x.data(), std::ssize(y), 0)),
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

/// Rank 0 has the whole problem, both ranks have their parts.
template <class Part, class... Arguments>
void measure_part(int rounds, const Context& both, const Context& alone, const Arguments&... with) {
    Part split(both, with...);
    std::unique_ptr<Part> whole;
    if (both.rank() == 0) whole = std::make_unique<Part>(alone, with...);
    bench::measure_two_ranks(
        rounds, [&] { whole->run(); }, [&] { split.run(); });
}

void measure(const std::string& what, int rounds) {
    const Options one_thread{{"threads", "1"}};
    Context both = mpi_context(MPI_COMM_WORLD, one_thread);
    Context alone(one_thread);
    if (both.rank() == 0) std::printf("%s, %d rounds\n", what.c_str(), rounds);
    if (what == "flare") {
        const bench::FlareCase flare(8);
        measure_part<FlarePart>(rounds, both, alone, flare.path(), int64_t{40000});
    } else if (what == "neighborhood" || what == "global") {
        const bench::ModelCase sphere("sphere", bench::paper_transformer(what));
        measure_part<bench::SphereRun>(rounds, both, alone, sphere.path(), Options{});
    } else if (what == "hept") {
        const bench::ModelCase hits("hept", bench::hept_network(4));
        measure_part<bench::HitRun>(rounds, both, alone, hits.path(), int64_t{60000}, Options{});
    } else {
        const bool is_sequoia = what == "sequoia";
        const bench::ModelCase cloud(
            is_sequoia ? "sequoia" : "bsa",
            is_sequoia ? bench::sequoia_network(2) : bench::bsa_network(what, 2));
        measure_part<bench::CloudRun>(rounds, both, alone, cloud.path(), int64_t{65536}, Options{});
    }
}

constexpr const char* cases[] = {"flare",   "neighborhood", "global", "bsa", "group_compression",
                                 "sequoia", "hept"};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const std::string what = argc > 1 ? argv[1] : "";
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
    const bool is_right = size == 2 && rounds >= 1 && std::ranges::count(cases, what) > 0;
    if (is_right) {
        measure(what, rounds);
    } else if (rank == 0) {
        std::fprintf(stderr,
                     "usage: mpirun -n 2 two_ranks flare|neighborhood|global|bsa|"
                     "group_compression|sequoia|hept [rounds >= 1]\n");
    }
    MPI_Finalize();
    return is_right ? 0 : 2;
}
