// SPDX-License-Identifier: Apache-2.0
// Ranks of Open MPI that wait call sched_yield() all the time if mpi_yield_when_idle is set. Where
// many of them share a core, the one that they wait for is computed sooner if they sleep: 50 times
// sooner with 16 ranks on two busy cores. Processor seconds of a rank then count work only.
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

extern "C" __attribute__((visibility("default"))) int sched_yield() {
    // All ranks together wake up 50,000 times a second.
    static const char* const ranks = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    static const long n_rank = std::clamp(ranks ? std::atol(ranks) : 1, 1L, 1000L);
    const timespec pause{0, 20'000 * n_rank};
    return nanosleep(&pause, nullptr);
}
