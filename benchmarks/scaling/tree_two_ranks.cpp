// SPDX-License-Identifier: Apache-2.0
// Trees of points from 1 to 2 ranks, one thread each, see paired_ranks.hpp:
//   mpirun -n 2 build/bin/tree_two_ranks [volume | surface | lattice] [points] [rounds]
// Each rank has one half of the points, in no spatial order; positions are compared with the result
// of rank 0 alone.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "benchmarks/kernels/tree_case.hpp"
#include "benchmarks/scaling/paired_ranks.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"

namespace {

using namespace surrogate;

/// Returns the processor seconds of this rank, which other load does not lengthen.
double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void measure(const std::string& kind, int64_t n, int rounds) {
    const auto both = impl::mpi_communicator(MPI_COMM_WORLD);
    const auto alone = impl::self_communicator();
    const kernels::Queue queue;
    const bench::TreeCase part(kind, n, false, both->rank(), both->size()), all(kind, n, false);
    std::vector<int64_t> positions = part.run(*both, queue), whole;
    if (both->rank() == 0) {
        whole = all.run(*alone, queue);
        if (!std::equal(positions.begin(), positions.end(), whole.begin())) {
            std::printf("two ranks differ from one\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        std::printf("%s, %lld points, %d rounds\n", kind.c_str(), static_cast<long long>(n),
                    rounds);
    }
    double best = 1e9;
    bench::measure_two_ranks(
        rounds, [&] { whole = all.run(*alone, queue); },
        [&] {
            const double begin = cpu_seconds();
            positions = part.run(*both, queue);
            best = std::min(best, cpu_seconds() - begin);
        });
    both->all_reduce_max(std::span(&best, 1));
    if (both->rank() == 0) std::printf("cores of two ranks: %.1f ms each at most\n", best * 1e3);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    measure(argc > 1 ? argv[1] : "volume", argc > 2 ? std::atoll(argv[2]) : 1000000,
            argc > 3 ? std::atoi(argv[3]) : 15);
    MPI_Finalize();
}
