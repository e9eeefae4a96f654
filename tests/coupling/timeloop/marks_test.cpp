// SPDX-License-Identifier: Apache-2.0
// Checks that a rollback restores all state bitwise identically, any number of times.
#include "tests/coupling/timeloop/loop_case.hpp"

namespace surrogate::test {
namespace {

TEST(TimeLoopMarks, BringBackTimeFieldsAndIntegrals) {
    HeightLoop c;
    c.loop.set("drift", "correct");
    c.loop.set("range", "off");
    c.loop.conserve("mass", "height", 0);
    c.loop.step(2);
    const std::vector<double> marked = c.own.height;
    c.loop.snapshot();
    std::vector<double> first;
    for (int round = 0; round < 3; ++round) {
        c.loop.add_source("mass", 5);
        c.loop.rollout(3, 2);
        if (round == 0) first = c.own.height;
        EXPECT_TRUE(same_bits(c.own.height, first)) << round;
        std::ranges::fill(c.own.height, NAN);
        c.loop.rollback();
        EXPECT_TRUE(same_bits(c.own.height, marked)) << round;
        EXPECT_EQ(c.loop.time(), 2);
        EXPECT_EQ(c.loop.n_step(), 1);
    }
    EXPECT_EQ(c.loop.counter("snapshots"), 1);
    EXPECT_EQ(c.loop.counter("rollbacks"), 3);
}

TEST(TimeLoopMarks, BringBackTheCountOfRetryAfter) {
    HeightLoop c;
    c.loop.set("range", "fallback");
    c.loop.set("retry_after", "2");
    const double good = c.all()[17];
    c.set(17, 99);
    c.loop.step(1);
    c.set(17, good);
    c.loop.snapshot();
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(c.loop.step(1), StepOutcome::rejected);
        EXPECT_EQ(c.loop.step(1), StepOutcome::rejected);
        EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
        c.loop.rollback();
    }
}

/// Vectors of floats, blocks with ghosts, numbers that arithmetic would change.
TEST(TimeLoopMarks, BringBackArraysOfTheSolversOwn) {
    HeightLoop c;
    const int64_t n = c.own.n();
    std::vector<float> vectors(static_cast<size_t>(4 * n), 5);
    std::vector<double> ghosted(static_cast<size_t>(n + 2), 7);
    const uint32_t signalling = 0x7fa00001;
    for (int64_t i = 0; i < n; ++i) {
        std::memcpy(&vectors[static_cast<size_t>(4 * i)], &signalling, sizeof signalling);
        vectors[static_cast<size_t>(4 * i + 1)] = -0.0f;
        ghosted[static_cast<size_t>(i + 1)] = -0.0;
    }
    surrogate_array array = matrix(vectors.data(), n, 2);
    array.stride[0] = 4;
    surrogate_block block{};
    block.data = ghosted.data() + 1;
    block.shape[0] = n;
    block.shape[1] = block.shape[2] = 1;
    block.stride[0] = 1;
    block.n_dim = 3;
    block.dtype = SURROGATE_FLOAT64;
    c.loop.bind_state("memory", array);
    c.loop.bind_state("history", block, "K");
    c.loop.snapshot();
    const std::vector<float> vectors_marked = vectors;
    const std::vector<double> ghosted_marked = ghosted;
    for (int64_t i = 0; i < n; ++i) {
        vectors[static_cast<size_t>(4 * i)] = vectors[static_cast<size_t>(4 * i + 1)] = 1;
        ghosted[static_cast<size_t>(i + 1)] = 1;
    }
    c.loop.step(1);
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(ghosted[static_cast<size_t>(i + 1)], 1);
    c.loop.rollback();
    EXPECT_TRUE(same_bits(ghosted, ghosted_marked));
    EXPECT_EQ(std::memcmp(vectors.data(), vectors_marked.data(), vectors.size() * sizeof(float)),
              0);
}

TEST(TimeLoopMarks, BringBackInputsThatAnOutputFeeds) {
    const Context context = mpi_context(MPI_COMM_WORLD, {{"threads", "1"}});
    const Model model = renamed_model(context);
    Points own(own_rows("contiguous", 24, MPI_COMM_WORLD));
    const Domain domain(context, own.points());
    Plan plan(model, domain);
    TimeLoop loop(plan);
    std::vector<double> next(own.height.size(), 3.5);
    loop.bind("height_now", column(own.height.data(), own.n()));
    loop.bind("height_next", column(next.data(), own.n()));
    loop.connect("height_next", "height_now");
    const std::vector<double> now = own.height;
    loop.snapshot();
    loop.step(1);
    loop.rollback();
    EXPECT_EQ(own.height, now);
    EXPECT_EQ(next, std::vector<double>(own.height.size(), 3.5));
}

TEST(TimeLoopMarks, AreNeededToRewindAndEndWhereFieldsAreBound) {
    HeightLoop c;
    const Answer without = answer(surrogate_timeloop_rollback(c.loop.get()));
    EXPECT_EQ(without.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(without.says("no snapshot")) << without;
    c.loop.snapshot();
    std::vector<double> extra(c.own.height.size());
    c.loop.bind_state("extra", column(extra.data(), c.own.n()));
    const Answer since = answer(surrogate_timeloop_rollback(c.loop.get()));
    EXPECT_EQ(since.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(since.says("call surrogate_timeloop_snapshot again")) << since;
    c.loop.snapshot();
    EXPECT_NO_THROW(c.loop.rollback());
}

/// Implicit coupling: a step is repeated with another boundary value until it fits.
TEST(TimeLoopMarks, RepeatAStepWithOtherInputs) {
    const Context context = mpi_context(MPI_COMM_WORLD, {{"threads", "1"}});
    const Model model = renamed_model(context);
    Points own(own_rows("contiguous", 24, MPI_COMM_WORLD));
    const Domain domain(context, own.points());
    Plan plan(model, domain);
    TimeLoop loop(plan);
    std::vector<double> next(own.height.size(), 0);
    loop.bind("height_now", column(own.height.data(), own.n()));
    loop.bind("height_next", column(next.data(), own.n()));
    const std::vector<double> inputs = own.height;
    loop.snapshot();
    loop.step(1);
    const std::vector<double> first = next;
    loop.rollback();
    for (double& value : own.height) value += 0.25;
    loop.step(1);
    if (!first.empty()) {
        EXPECT_NE(next, first);
    }
    loop.rollback();
    own.height = inputs;
    loop.step(1);
    EXPECT_EQ(next, first);
}

}  // namespace
}  // namespace surrogate::test
