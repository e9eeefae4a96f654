// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Throughput of bare loops on the threads of all ranks at the same time: sums over ranks, best of
/// some runs. Single precision, the widest vectors of the machine.
struct MachineLimits {
    double multiply_adds = 0;  ///< a second; two flops each
    double exponentials = 0;   ///< a second, accurate to single precision
    double memory_bytes = 0;   ///< a second read from memory
    std::string vectors;       ///< "AVX2": what the loops were compiled for
};

/// Takes about a second and 64 MB a thread. Collective.
MachineLimits measure_limits(const Job& job, int n_thread);

}  // namespace surrogate::tool
