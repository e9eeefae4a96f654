// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace surrogate::bench {

/// Strong scaling from 1 to 2 ranks of the world communicator, against what the machine itself
/// gains from its second core. Each round times four things in turn, so that a shared machine's
/// drift hits all alike: `whole` on rank 0, `split` on both ranks, a loop of bare multiply-adds on
/// rank 0, and the loop split. Rank 0 prints medians of T1/T2 of model and loop, and their ratio (1
/// = all that the second core gives). Collective.
void measure_two_ranks(int rounds, const std::function<void()>& whole,
                       const std::function<void()>& split);

}  // namespace surrogate::bench
