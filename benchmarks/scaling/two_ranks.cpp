// SPDX-License-Identifier: Apache-2.0
// Strong scaling from 1 to 2 ranks, see paired_ranks.hpp:
//   mpirun -n 2 build/bin/two_ranks CASE [rounds]
// CASE as in named_case.hpp.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "benchmarks/scaling/named_case.hpp"
#include "benchmarks/scaling/paired_ranks.hpp"
#include "surrogate/surrogate_mpi.hpp"

namespace {

using namespace surrogate;

/// Rank 0 has the whole problem, both ranks have their parts.
template <class Part, class... Arguments>
void measure_part(int rounds, const Context& both, const Context& alone, const Arguments&... with) {
    Part split(both, with..., Options{});
    std::unique_ptr<Part> whole;
    if (both.rank() == 0) whole = std::make_unique<Part>(alone, with..., Options{});
    bench::measure_two_ranks(
        rounds, [&] { whole->run(); }, [&] { split.run(); });
}

void measure(const std::string& what, int rounds) {
    const Options one_thread{{"threads", "1"}};
    Context both = mpi_context(MPI_COMM_WORLD, one_thread);
    Context alone(one_thread);
    if (both.rank() == 0) std::printf("%s, %d rounds\n", what.c_str(), rounds);
    bench::with_case(what, [&]<class Run>(const auto&... with) {
        measure_part<Run>(rounds, both, alone, with...);
    });
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const std::string what = argc > 1 ? argv[1] : "";
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
    const bool is_right = size == 2 && rounds >= 1 && std::ranges::count(bench::cases, what) > 0;
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
