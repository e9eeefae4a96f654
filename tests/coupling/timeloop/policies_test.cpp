// SPDX-License-Identifier: Apache-2.0
// Consequences of an outcome: which solver steps, for how long, and the lines in log and report.
#include "tests/coupling/timeloop/loop_case.hpp"

namespace surrogate::test {
namespace {

TEST(TimeLoopPolicies, TheHeaviestOfSeveralDecides) {
    HeightLoop c;
    c.loop.conserve("mass", "height", 0);
    c.loop.set_bounds("height", -INFINITY, -1000);
    c.loop.set("bounds", "correct");
    c.loop.set("drift", "warn");
    EXPECT_EQ(c.loop.step(1), StepOutcome::corrected);
    c.loop.set("drift", "fallback");
    EXPECT_EQ(c.loop.step(1), StepOutcome::rejected);
    c.loop.set("bounds", "stop");
    EXPECT_EQ(c.loop.step(1), StepOutcome::stopped);
    const std::string reason = c.loop.reason();
    EXPECT_TRUE(contains(reason, "bounds (stop)") && contains(reason, "drift (fallback)"));
}

TEST(TimeLoopPolicies, RetryAfterLeavesFurtherStepsToTheSolver) {
    HeightLoop c;
    c.loop.set("range", "fallback");
    c.loop.set("retry_after", "2");
    int n_call = 0;
    c.loop.set_fallback([&](double time_s, double dt_s) {
        EXPECT_EQ(time_s, 10.0 * n_call);
        EXPECT_EQ(dt_s, 10);
        ++n_call;
        std::ranges::fill(c.own.height, 10);  // inside the range
    });
    c.set(17, 20);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(c.loop.step(10), StepOutcome::fallback) << i;
    EXPECT_EQ(c.loop.counter("evaluations"), 1);
    EXPECT_EQ(c.loop.counter("skipped"), 2);
    EXPECT_EQ(c.loop.step(10), StepOutcome::accepted);
    EXPECT_EQ(n_call, 3);
    EXPECT_EQ(c.loop.time(), 40);
}

TEST(TimeLoopPolicies, InputsThatStayRejectedAreNotEvaluatedAgain) {
    HeightLoop c, fresh;
    c.loop.set("range", "fallback");
    c.loop.set("drift", "fallback");
    c.loop.conserve("mass", "height", 0);
    const std::vector<double> good = c.own.height;
    c.set(17, 20);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(c.loop.step(1), StepOutcome::rejected) << i;
    EXPECT_EQ(c.loop.counter("evaluations"), 1);
    EXPECT_EQ(c.loop.counter("rejected"), 4);
    EXPECT_TRUE(contains(c.loop.reason(), "range (fallback): input 'height'"));
    EXPECT_FALSE(contains(c.loop.reason(), "drift")) << c.loop.reason();
    c.own.height = good;
    c.loop.set("drift", "off");
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
    fresh.loop.step(1);
    EXPECT_EQ(c.own.height, fresh.own.height);
    EXPECT_EQ(c.loop.counter("evaluations"), 2);
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
    EXPECT_EQ(c.loop.counter("evaluations"), 3);
}

TEST(TimeLoopPolicies, RejectedStepsAreTheCallers) {
    HeightLoop c;
    c.loop.set("range", "fallback");
    c.loop.set("retry_after", "1");
    c.set(17, 20);
    EXPECT_EQ(c.loop.step(1), StepOutcome::rejected);
    c.set(17, 10);
    c.loop.advance(0.5);
    EXPECT_EQ(c.loop.time(), 0.5);
    EXPECT_EQ(c.loop.n_step(), 1);
    EXPECT_EQ(c.loop.step(1), StepOutcome::rejected);
    EXPECT_TRUE(contains(c.loop.reason(), "retry_after"));
    c.loop.advance(0.5);
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
    EXPECT_EQ(c.loop.counter("steps"), 3);
}

TEST(TimeLoopPolicies, RollOutEndsAtTheFirstStepThatIsNotMade) {
    HeightLoop c;
    int64_t n_done = -1;
    EXPECT_EQ(c.loop.rollout(3, 1, &n_done), StepOutcome::accepted);
    EXPECT_EQ(n_done, 3);
    EXPECT_EQ(c.loop.rollout(0, 1, &n_done), StepOutcome::accepted);
    EXPECT_EQ(n_done, 0);
    c.loop.set("range", "stop");
    c.set(17, 20);
    EXPECT_EQ(c.loop.rollout(3, 1, &n_done), StepOutcome::stopped);
    EXPECT_EQ(n_done, 0);
    EXPECT_EQ(c.loop.time(), 3);
}

/// A function that fails on one rank, by status or by exception.
TEST(TimeLoopPolicies, AFallbackThatFailsOnOneRankFailsTheStepOnAll) {
    for (int culprit = 0; culprit < size_of(MPI_COMM_WORLD); ++culprit) {
        HeightLoop c;
        c.loop.set("range", "fallback");
        c.set(17, 20);
        const bool is_here = c.context.rank() == culprit;
        check(surrogate_timeloop_set_fallback(
            c.loop.get(),
            [](void* user, double, double) -> surrogate_status {
                return *static_cast<const bool*>(user) ? SURROGATE_IO : SURROGATE_SUCCESS;
            },
            const_cast<bool*>(&is_here)));
        int32_t outcome = 77;
        const Answer found = answer(surrogate_timeloop_step(c.loop.get(), 1, &outcome));
        EXPECT_EQ(found.status, SURROGATE_IO);
        EXPECT_TRUE(found.says("fallback function returned IO")) << found;
        EXPECT_EQ(found, answer_of_rank_0(found, c.comm));
        EXPECT_EQ(outcome, 77);
        EXPECT_EQ(c.loop.time(), 0);
        EXPECT_EQ(c.loop.counter("fallback"), 0);
    }
}

TEST(TimeLoopPolicies, AFallbackThatThrowsIsHeardOfOnAllRanks) {
    HeightLoop c;
    c.loop.set("range", "fallback");
    c.set(17, 20);
    const bool is_here = c.context.rank() == c.context.size() - 1;
    c.loop.set_fallback([&](double, double) {
        if (is_here) throw std::out_of_range("own");
    });
    if (is_here) {
        EXPECT_THROW(c.loop.step(1), std::out_of_range);
    } else {
        try {
            c.loop.step(1);
            ADD_FAILURE() << "the step of this rank went well";
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), SURROGATE_CALLBACK);
            EXPECT_TRUE(contains(error.what(), ": own")) << error.what();
        }
    }
    EXPECT_TRUE(ranks_still_talk(c.comm));
    c.loop.set_fallback({});
    EXPECT_EQ(c.loop.step(1), StepOutcome::rejected);
}

TEST(TimeLoopPolicies, TheLogHearsOfAGuardOnceAndOfTheReportAtTheEnd) {
    std::vector<std::string> lines;
    {
        HeightLoop c;
        c.loop.set_log(
            [](void* user, const char* text) {
                static_cast<std::vector<std::string>*>(user)->push_back(text);
            },
            &lines);
        for (int i = 0; i < 3; ++i) {
            c.set(17, 20);
            c.loop.step(5);
        }
        EXPECT_EQ(lines.size(), c.context.rank() == 0 ? 1 : 0);
    }
    if (rank_of(MPI_COMM_WORLD) != 0) {
        EXPECT_TRUE(lines.empty());
        return;
    }
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_TRUE(contains(lines[0], "range (warn): input 'height'")) << lines[0];
    EXPECT_TRUE(contains(lines[1], "3 steps, 3 evaluations, time 15 s")) << lines[1];
    EXPECT_TRUE(contains(lines[1], "accepted 3")) << lines[1];
    EXPECT_TRUE(contains(lines[1], "worst 20 (range ends at 16)")) << lines[1];
}

TEST(TimeLoopPolicies, ReportNamesEveryGuardWithItsPolicy) {
    HeightLoop c;
    c.loop.set("bounds", "off");
    const std::string report = c.loop.report();
    for (const char* row :
         {"range     warn", "distance  off", "finite    stop", "bounds    off", "drift     warn"})
        EXPECT_TRUE(contains(report, row)) << row << "\n" << report;
}

}  // namespace
}  // namespace surrogate::test
