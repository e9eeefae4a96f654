// SPDX-License-Identifier: Apache-2.0
// Points that move under a loop.
#include "tests/coupling/timeloop/loop_case.hpp"

namespace surrogate::test {
namespace {

TEST(TimeLoopMovedPoints, AreRefusedUntilFieldsAreBoundAgain) {
    HeightLoop c;
    Points fewer(own_rows("contiguous", 15, c.comm));
    c.domain.update_points(fewer.points());
    const Answer found = answer(surrogate_timeloop_step(c.loop.get(), 1, nullptr));
    EXPECT_EQ(found.status, SURROGATE_SHAPE);
    EXPECT_TRUE(found.says("rebind it")) << found;
    EXPECT_EQ(found, answer_of_rank_0(found, c.comm));
    c.loop.bind("height", column(fewer.height.data(), fewer.n()));
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
}

}  // namespace
}  // namespace surrogate::test
