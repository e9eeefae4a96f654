// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/gradient_run.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {

/// If the last rank cannot run the backward pass, or has a gradient that is NaN, it fails on all
/// ranks. Afterwards all ranks can go on. run: on the ranks of `comm`.
inline void expect_failures_reach_all_ranks(GradientRun& run, MPI_Comm comm) {
    const bool is_culprit = rank_of(comm) == size_of(comm) - 1;
    ASSERT_TRUE(run.evaluate());
    run.dy = run.y;
    expect_failed_backward(run, !is_culprit, "a rank is bad");
    ASSERT_TRUE(run.evaluate());
    if (is_culprit) run.dy.back() = std::numeric_limits<double>::quiet_NaN();
    expect_failed_backward(run, true, "a gradient is NaN");
    EXPECT_TRUE(run.run(half_square));
    EXPECT_TRUE(ranks_still_talk(comm));
}

}  // namespace surrogate::test
