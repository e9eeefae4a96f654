// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"

namespace surrogate::bench {

/// Floating-point operations a second of a bare loop of fused multiply-adds on all threads and the
/// level of the queue: best of some runs of a few milliseconds. What the other numbers of a
/// benchmark are a share of.
double fma_peak(const kernels::Queue& queue);

}  // namespace surrogate::bench
