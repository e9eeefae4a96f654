// SPDX-License-Identifier: Apache-2.0
// Checks that steps with corrections are bitwise identical on any number of ranks, in reproducible
// mode.
#include "tests/coupling/timeloop/loop_case.hpp"

namespace surrogate::test {
namespace {

struct Trajectory {
    std::vector<double> heights;   // by row
    std::vector<double> outcomes;  // with what the guards found
};

/// 20 steps with all guards at work. Collective over `comm`.
Trajectory run(MPI_Comm comm, const char* partition) {
    HeightLoop c(comm, partition, {{"reproducible", "true"}});
    std::vector<double> weights;
    for (const int64_t row : c.own.rows) weights.push_back(1 + 0.1 * static_cast<double>(row % 7));
    c.loop.set("range", "correct");
    c.loop.set("bounds", "correct");
    c.loop.set("drift", "correct");
    c.loop.set_bounds("height", 9.5, 12.5);
    c.loop.conserve("mass", "height", 1e-15, weights.data());
    Trajectory trajectory;
    for (int i = 0; i < 20; ++i) {
        if (i % 5 == 0) c.set(i, 30);
        c.loop.add_source("mass", 0.1);
        trajectory.outcomes.push_back(static_cast<double>(c.loop.step(1)));
        for (const char* guard : {"range", "bounds", "drift"}) {
            const surrogate_guard_info info = c.loop.guard(guard);
            trajectory.outcomes.insert(trajectory.outcomes.end(),
                                       {info.fraction, info.value, info.limit});
        }
    }
    EXPECT_GE(c.loop.counter("corrected"), 20);
    trajectory.heights = c.all();
    return trajectory;
}

TEST(TimeLoopLaws, CorrectedStepsDoNotDependOnRanksOrPartition) {
    const Trajectory alone = run(MPI_COMM_SELF, "contiguous");
    for (const char* partition : {"contiguous", "scattered", "uneven"}) {
        SCOPED_TRACE(partition);
        const Trajectory found = run(MPI_COMM_WORLD, partition);
        EXPECT_TRUE(same_bits(found.heights, alone.heights));
        EXPECT_TRUE(same_bits(found.outcomes, alone.outcomes));
    }
}

}  // namespace
}  // namespace surrogate::test
