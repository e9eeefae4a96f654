// SPDX-License-Identifier: Apache-2.0
// Steps against the plan run by hand: any array, sub-steps, fields that feed each other.
#include "tests/coupling/timeloop/loop_case.hpp"

namespace surrogate::test {
namespace {

/// n evaluations of the plan by hand, in place, in the solver's type.
template <class T>
std::vector<T> by_hand(int n) {
    const Context context = mpi_context(MPI_COMM_WORLD, {{"threads", "1"}});
    const Model model = height_model(context);
    const Points own(own_rows("contiguous", HeightLoop::n_row, MPI_COMM_WORLD));
    const Domain domain(context, own.points());
    Plan plan(model, domain);
    std::vector<T> height(own.height.begin(), own.height.end());
    plan.bind_input("height", column(height.data(), own.n()));
    plan.bind_output("height", column(height.data(), own.n()));
    for (int i = 0; i < n; ++i) plan.run();
    return height;
}

TEST(TimeLoopSteps, GiveTheBitsOfThePlan) {
    HeightLoop c;
    c.loop.rollout(3, 1);
    EXPECT_EQ(c.own.height, by_hand<double>(3));
}

TEST(TimeLoopSteps, OfFloatsGiveTheBitsOfThePlan) {
    HeightLoop c;
    std::vector<float> height(c.own.height.begin(), c.own.height.end());
    c.loop.bind("height", column(height.data(), c.own.n()));
    c.loop.rollout(3, 1);
    EXPECT_EQ(height, by_hand<float>(3));
}

TEST(TimeLoopSteps, ReachStridedAndReversedArraysAndNothingElse) {
    HeightLoop c;
    const int64_t n = c.own.n();
    std::vector<double> wide(static_cast<size_t>(3 * n), -7.0);
    for (int64_t i = 0; i < n; ++i)
        wide[static_cast<size_t>(3 * (n - 1 - i) + 1)] = c.own.height[static_cast<size_t>(i)];
    double* const last = wide.data() + 3 * (n - 1) + 1;
    c.loop.bind("height", column(n > 0 ? last : nullptr, n, -3));
    c.loop.step(1);
    const std::vector<double> expected = by_hand<double>(1);
    for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<size_t>(3 * (n - 1 - i));
        EXPECT_EQ(wide[at + 1], expected[static_cast<size_t>(i)]);
        EXPECT_EQ(wide[at], -7);
        EXPECT_EQ(wide[at + 2], -7);
    }
}

/// The inner points of a block with ghosts, first axis fastest.
TEST(TimeLoopSteps, ReachTheInnerPointsOfABlock) {
    HeightLoop c;
    const int64_t n = c.own.n(), n_x = n % 4 == 0 ? 4 : n % 3 == 0 ? 3 : 1, n_y = n / n_x;
    const int64_t row = n_x + 2;
    std::vector<float> ghosted(static_cast<size_t>(row * (n_y + 2)), -7.0f);
    const auto at = [&](int64_t i) {
        return static_cast<size_t>((1 + i / n_x) * row + 1 + i % n_x);
    };
    std::vector<float> expected = by_hand<float>(1);
    for (int64_t i = 0; i < n; ++i)
        ghosted[at(i)] = static_cast<float>(c.own.height[static_cast<size_t>(i)]);
    surrogate_block block{};
    block.data = ghosted.data() + row + 1;
    block.shape[0] = n_x;
    block.shape[1] = n_y;
    block.stride[0] = 1;
    block.stride[1] = row;
    block.n_dim = 2;
    block.dtype = SURROGATE_FLOAT32;
    c.loop.bind("height", block, "m");
    c.loop.step(1);
    for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(ghosted[at(i)], expected[static_cast<size_t>(i)]) << i;
        ghosted[at(i)] = -7;
    }
    for (const float value : ghosted) EXPECT_EQ(value, -7);
}

TEST(TimeLoopSteps, OfAVectorAreThoseOfItsComponents) {
    const Context context = mpi_context(MPI_COMM_WORLD, {{"threads", "1"}});
    const Model model = velocity_model(context);
    const Points own(own_rows("contiguous", 24, MPI_COMM_WORLD));
    const int64_t n = own.n();
    const Domain domain(context, own.points());
    Plan plan(model, domain), plan_by_hand(model, domain);
    std::vector<double> both(static_cast<size_t>(2 * n)), x, y;
    for (int64_t i = 0; i < n; ++i) {
        x.push_back(std::cos(0.3 * double(own.rows[size_t(i)])));
        y.push_back(std::sin(0.7 * double(own.rows[size_t(i)])));
        both[size_t(2 * i)] = x.back();
        both[size_t(2 * i + 1)] = y.back();
    }
    for (const auto& [name, values] : {std::pair("velocity.x", &x), std::pair("velocity.y", &y)}) {
        plan_by_hand.bind_input(name, column(values->data(), n));
        plan_by_hand.bind_output(name, column(values->data(), n));
    }
    TimeLoop loop(plan);
    loop.bind("velocity", matrix(both.data(), n, 2), "m");
    loop.rollout(2, 1);
    plan_by_hand.run();
    plan_by_hand.run();
    for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(both[size_t(2 * i)], x[size_t(i)]);
        EXPECT_EQ(both[size_t(2 * i + 1)], y[size_t(i)]);
    }
}

TEST(TimeLoopSteps, OfKTimesStepSAreKEvaluations) {
    HeightLoop c;
    c.loop.set("step_s", "0.1");
    EXPECT_EQ(c.loop.step(0.3), StepOutcome::accepted);  // 0.3 is not 3 * 0.1 in doubles
    EXPECT_EQ(c.loop.counter("evaluations"), 3);
    EXPECT_EQ(c.loop.counter("steps"), 1);
    EXPECT_EQ(c.loop.time(), 0.3);
    EXPECT_EQ(c.own.height, by_hand<double>(3));
    HeightLoop single;
    std::vector<float> height(single.own.height.begin(), single.own.height.end());
    single.loop.bind("height", column(height.data(), single.own.n()));
    single.loop.set("step_s", "0.1");
    single.loop.step(0.4);
    EXPECT_EQ(height, by_hand<float>(4));
}

/// The solver gets no result of the first evaluations if a later one is rejected.
TEST(TimeLoopSteps, SubStepsHappenTogetherOrNotAtAll) {
    HeightLoop first, second;
    first.loop.step(1);
    second.loop.rollout(2, 1);
    const std::vector<double> one = first.all(), two = second.all();
    const double top_one = *std::ranges::max_element(one), top_two = *std::ranges::max_element(two);
    ASSERT_NE(top_one, top_two);
    // A bound that one of the two outcomes breaks and the other one keeps.
    const bool second_is_higher = top_two > top_one;
    HeightLoop c;
    c.loop.set("step_s", "1");
    c.loop.set("bounds", "stop");
    c.loop.set_bounds("height", -INFINITY, (top_one + top_two) / 2);
    const std::vector<double> before = c.all();
    EXPECT_EQ(c.loop.step(2), StepOutcome::stopped);
    EXPECT_TRUE(same_bits(c.all(), before));
    EXPECT_EQ(c.loop.counter("evaluations"), second_is_higher ? 2 : 1);
    EXPECT_EQ(c.loop.guard("bounds").n_violations, 1);
}

/// Corrections of one evaluation are what the next one starts from.
TEST(TimeLoopSteps, SubStepsAreCorrectedAsStepsAre) {
    HeightLoop steps, sub_steps;
    for (HeightLoop* c : {&steps, &sub_steps}) {
        c->loop.set("drift", "correct");
        c->loop.set("range", "off");
        c->loop.conserve("mass", "height", 1e-9);
    }
    sub_steps.loop.set("step_s", "1");
    EXPECT_EQ(steps.loop.rollout(4, 1), StepOutcome::corrected);
    EXPECT_EQ(sub_steps.loop.step(4), StepOutcome::corrected);
    EXPECT_TRUE(same_bits(steps.all(), sub_steps.all()));
}

struct RenamedLoop {
    RenamedLoop()
        : context(mpi_context(MPI_COMM_WORLD, {{"threads", "1"}})),
          model(renamed_model(context)),
          own(own_rows("contiguous", 24, MPI_COMM_WORLD)),
          domain(context, own.points()),
          plan(model, domain),
          loop(plan),
          next(own.height.size(), -1) {}
    Context context;
    Model model;
    Points own;
    Domain domain;
    Plan plan;
    TimeLoop loop;
    std::vector<double> next;
};

TEST(TimeLoopSteps, FeedAnInputOfAnotherName) {
    RenamedLoop c;
    c.loop.bind("height_now", column(c.own.height.data(), c.own.n()));
    c.loop.bind("height_next", column(c.next.data(), c.own.n()));
    c.loop.connect("height_next", "height_now");
    c.loop.set("step_s", "1");
    c.loop.step(2);
    EXPECT_EQ(c.next, by_hand<double>(2));
    EXPECT_EQ(c.own.height, c.next);
    c.loop.step(1);
    EXPECT_EQ(c.next, by_hand<double>(3));
}

TEST(TimeLoopSteps, FeedAnInputThroughOneArray) {
    RenamedLoop c;
    c.loop.bind("height_now", column(c.own.height.data(), c.own.n()));
    c.loop.bind("height_next", column(c.own.height.data(), c.own.n()));
    c.loop.connect("height_next", "height_now");
    c.loop.rollout(2, 1);
    EXPECT_EQ(c.own.height, by_hand<double>(2));
}

/// An input that no output feeds is the solver's: it is read again and again, and never written.
TEST(TimeLoopSteps, LeaveOtherInputsAlone) {
    RenamedLoop c;
    const std::vector<double> before = c.own.height;
    c.loop.bind("height_now", column(c.own.height.data(), c.own.n()));
    c.loop.bind("height_next", column(c.next.data(), c.own.n()));
    c.loop.set("step_s", "1");
    c.loop.step(2);
    EXPECT_EQ(c.own.height, before);
    EXPECT_EQ(c.next, by_hand<double>(1));
}

TEST(TimeLoopSteps, FollowArraysThatAreBoundAgain) {
    HeightLoop c;
    c.loop.step(1);
    std::vector<double> moved = c.own.height;
    std::ranges::fill(c.own.height, NAN);
    c.loop.bind("height", column(moved.data(), c.own.n()));
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
    EXPECT_EQ(moved, by_hand<double>(2));
    for (const double value : c.own.height) EXPECT_TRUE(std::isnan(value));
}

TEST(TimeLoopSteps, OfAnEmptyRankAreThoseOfTheOthers) {
    HeightLoop even, uneven(MPI_COMM_WORLD, "uneven");
    EXPECT_EQ(even.loop.step(1), StepOutcome::accepted);
    EXPECT_EQ(uneven.loop.step(1), StepOutcome::accepted);
    const std::vector<double> a = even.all(), b = uneven.all();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4);
}

TEST(TimeLoopSteps, OfTwoLoopsOnOneContextDoNotMeet) {
    HeightLoop c;
    Plan other_plan(c.model, c.domain);
    TimeLoop other(other_plan);
    std::vector<double> height = Points(c.own.rows).height;
    other.bind("height", column(height.data(), c.own.n()));
    for (int i = 0; i < 3; ++i) {
        c.loop.step(1);
        other.step(1);
    }
    EXPECT_EQ(height, c.own.height);
}

}  // namespace
}  // namespace surrogate::test
