// SPDX-License-Identifier: Apache-2.0
// One rank runs out of memory at every allocation in turn: all ranks return the same result, no
// rank waits, and the next call works. A step does not allocate.
#include "tests/coupling/timeloop/loop_case.hpp"
#include "tests/libsurrogate/conformance/faults_memory.hpp"

namespace surrogate::test {
namespace {

TEST_F(FaultsMemory, InCreateOfATimeLoopIsToldToAllRanks) {
    HeightLoop c;
    fail_at_each_allocation([&] {
        surrogate_timeloop* loop = nullptr;
        const surrogate_status status = surrogate_timeloop_create(c.plan.get(), &loop);
        EXPECT_EQ(loop == nullptr, status != SURROGATE_SUCCESS);
        surrogate_timeloop_destroy(&loop);
        return status;
    });
}

/// The loop is created for each call, and its allocations are counted.
TEST_F(FaultsMemory, InConserveAndMarkIsToldToAllRanks) {
    HeightLoop c;
    const std::vector<double> weight(24, 1.0);
    fail_at_each_allocation([&] {
        surrogate_timeloop* loop = nullptr;
        surrogate_status status = surrogate_timeloop_create(c.plan.get(), &loop);
        if (status == SURROGATE_SUCCESS)
            status = surrogate_timeloop_conserve(loop, "mass of the whole domain", "height",
                                                 weight.data(), 0);
        surrogate_timeloop_destroy(&loop);
        return status;
    });
    const surrogate_array array = column(c.own.height.data(), c.own.n());
    fail_at_each_allocation([&] {
        surrogate_timeloop* loop = nullptr;
        surrogate_status status = surrogate_timeloop_create(c.plan.get(), &loop);
        if (status == SURROGATE_SUCCESS)
            status = surrogate_context_agree(
                c.context.get(), surrogate_timeloop_bind(loop, "height", "m", &array), nullptr);
        if (status == SURROGATE_SUCCESS) status = surrogate_timeloop_snapshot(loop);
        surrogate_timeloop_destroy(&loop);
        return status;
    });
}

TEST_F(FaultsMemory, InBindStaysOnTheRankAndIsRepaired) {
    HeightLoop c;
    const surrogate_array array = column(c.own.height.data(), c.own.n());
    int64_t n_failed = 0;
    for (int64_t n = 1;; ++n) {
        TimeLoop loop(c.plan);
        fail_allocation(n);
        const surrogate_status status = surrogate_timeloop_bind(loop.get(), "height", "m", &array);
        const bool has_failed = end_failing_allocation();
        EXPECT_EQ(status, has_failed ? SURROGATE_NO_MEMORY : SURROGATE_SUCCESS) << n;
        n_failed += has_failed;
        loop.bind("height", array, "m");
        EXPECT_EQ(loop.step(1), StepOutcome::accepted) << n;
        // Ranks need different numbers of allocations, and make loops together.
        double goes_on = has_failed ? 1 : 0;
        c.context.reduce(SURROGATE_MAX, 1, &goes_on);
        if (goes_on == 0) break;
    }
    EXPECT_GT(n_failed, 0);
}

TEST_F(FaultsMemory, IsNoMatterOfAStep) {
    HeightLoop c;
    c.loop.conserve("mass", "height", 0);
    c.loop.set("drift", "correct");
    const double good = c.all()[17];
    for (const char* policy : {"warn", "correct", "fallback", "stop"}) {
        c.loop.set("range", policy);
        c.set(17, 99);
        fail_allocation(1);
        int32_t outcome = -1;
        EXPECT_EQ(surrogate_timeloop_step(c.loop.get(), 1, &outcome), SURROGATE_SUCCESS) << policy;
        EXPECT_FALSE(end_failing_allocation()) << policy;
        c.set(17, good);
    }
}

}  // namespace
}  // namespace surrogate::test
