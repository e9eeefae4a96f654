// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace surrogate::bench {

/// Measures strong scaling from 1 to 2 ranks of the world communicator, relative to the gain of the
/// machine from its second core. Each round times four items in turn, so that the drift of a shared
/// machine affects all alike: `whole` on rank 0, `split` on both ranks, a loop of bare
/// multiply-adds on rank 0, and the loop split. Rank 0 prints medians of T1/T2 of model and loop,
/// and their ratio (1 = the full gain of the second core). Collective.
void measure_two_ranks(int rounds, const std::function<void()>& whole,
                       const std::function<void()>& split);

}  // namespace surrogate::bench
