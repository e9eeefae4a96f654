// SPDX-License-Identifier: Apache-2.0
// Ten thousand steps take no memory, whatever the guards say.
#include "tests/coupling/timeloop/loop_case.hpp"
#include "tests/support/memory_meter.hpp"

namespace surrogate::test {
namespace {

TEST(TimeLoopMemory, IsNotTakenByStepsMarksAndRewinds) {
    HeightLoop c;
    c.loop.conserve("mass", "height", 1e-12);
    c.loop.set("drift", "correct");
    c.loop.set("range", "fallback");
    c.loop.set("retry_after", "1");
    const std::vector<double> start = c.own.height;
    c.loop.set_fallback([&](double, double) { c.own.height = start; });
    c.loop.snapshot();
    int64_t n_allocation = 0, n_byte = 0;
    {
        const MemoryMeter meter;
        for (int i = 0; i < 10000; ++i) {
            if (i % 100 == 50) c.set(i % 24, 99);
            c.loop.step(1);
            if (i % 1000 == 0) c.loop.snapshot();
            if (i % 1000 == 20) c.loop.rollback();
        }
        n_allocation = meter.n_allocation();
        n_byte = meter.live_bytes();
    }
    EXPECT_EQ(n_allocation, 0);
    EXPECT_EQ(n_byte, 0);
    EXPECT_EQ(c.loop.counter("fallback"), 200);
    EXPECT_EQ(c.loop.counter("skipped"), 100);
    EXPECT_EQ(c.loop.counter("corrected") + c.loop.counter("accepted"), 9800);
}

}  // namespace
}  // namespace surrogate::test
