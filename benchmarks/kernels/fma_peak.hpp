// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"

namespace surrogate::bench {

/// Returns the floating-point operations per second of a bare loop of fused multiply-adds on all
/// threads and the instruction set of the queue: best of some runs of a few milliseconds. Other
/// numbers of a benchmark are given relative to it.
double fma_peak(const kernels::Queue& queue);

}  // namespace surrogate::bench
