// SPDX-License-Identifier: Apache-2.0
// A time loop on a model in training: inputs outside the ranges are rejected, until the ranges are
// widened to the training samples.
#include <surrogate/surrogate_train.hpp>

#include "tests/coupling/timeloop/loop_case.hpp"

namespace surrogate::test {
namespace {

constexpr int64_t far_row = 17;  // on the last of 2 and 3 ranks

constexpr double low = 10, high = 10.0001;

/// Predictions may be low .. high: some of the model's are beyond.
nlohmann::json narrow_output() {
    nlohmann::json output = field_entry("height", 10, 2);
    output.update({{"min", low}, {"max", high}});
    return {{"outputs", {output}}};
}

/// A loop, and a trainer on another plan of its model.
struct LearningLoop {
    explicit LearningLoop(const char* guard)
        : c(MPI_COMM_WORLD, "contiguous", {}, narrow_output()),
          learning(c.model, c.domain, {{"gradients", "true"}}),
          target(c.own.height.size(), low),
          trainer(learning) {
        learning.bind_input("height", column(c.own.height.data(), c.own.n()), "m");
        trainer.bind_target("height", column(target.data(), c.own.n()), "m");
        for (const char* other : {"range", "bounds"}) c.loop.set(other, "off");
        c.loop.set(guard, "fallback");
    }
    HeightLoop c;
    Plan learning;
    std::vector<double> target;
    Trainer trainer;
};

TEST(TimeLoopWidenedRanges, LetInputsPassThatWereLearnt) {
    LearningLoop l("range");
    l.c.set(far_row, 20);
    EXPECT_EQ(l.c.loop.step(1), StepOutcome::rejected);
    EXPECT_EQ(l.trainer.widen_ranges(), 0) << "nothing was learnt";
    EXPECT_EQ(l.c.loop.step(1), StepOutcome::rejected);
    l.trainer.step();
    EXPECT_EQ(l.c.loop.step(1), StepOutcome::rejected) << "learnt, but not trusted";
    EXPECT_EQ(l.trainer.widen_ranges(), 1);
    EXPECT_EQ(l.c.loop.step(1), StepOutcome::accepted);
    l.c.set(far_row, 20.1);
    EXPECT_EQ(l.c.loop.step(1), StepOutcome::rejected);
    EXPECT_DOUBLE_EQ(l.c.loop.guard("range").limit, 20);
}

TEST(TimeLoopWidenedRanges, LetPredictionsPassAsFarAsTargetsWent) {
    for (const bool has_own_bounds : {false, true}) {
        LearningLoop l("bounds");
        EXPECT_EQ(l.c.loop.step(1), StepOutcome::rejected);
        for (const double end : {-1e6, 1e6}) {
            std::ranges::fill(l.target, end);
            l.trainer.step();
        }
        EXPECT_EQ(l.c.loop.step(1), StepOutcome::rejected);
        if (has_own_bounds) l.c.loop.set_bounds("height", low, high);
        EXPECT_EQ(l.trainer.widen_ranges(), 1);
        EXPECT_EQ(l.c.loop.step(1), has_own_bounds ? StepOutcome::rejected : StepOutcome::accepted);
    }
}

}  // namespace
}  // namespace surrogate::test
