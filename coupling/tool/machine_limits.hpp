// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Throughput of simple loops on the threads of all ranks at the same time: sums over ranks, best
/// of several runs. Single precision, the widest vectors of the machine.
struct MachineLimits {
    double multiply_adds = 0;  ///< per second; two flops each
    double exponentials = 0;   ///< per second, accurate to single precision
    double memory_bytes = 0;   ///< read from memory per second
    std::string vectors;       ///< vector level of the loops, such as "AVX2"
};

/// Measures the throughput. Needs about a second and 64 MB per thread. Collective.
MachineLimits measure_limits(const Job& job, int n_thread);

}  // namespace surrogate::tool
