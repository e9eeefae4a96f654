// SPDX-License-Identifier: Apache-2.0
// The network on ranks: the bits of one rank, numbers that are not finite, memory.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/libsurrogate/hept/hept_run.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// A stored case on all ranks.
HeptCase distributed(const std::string& name, const char* partition, double scale = 1) {
    const HeptCase alone(name);
    const std::vector<int64_t> rows = own_rows(partition, alone.points.n(), world);
    return {name, impl::mpi_communicator(world), &rows, 0, scale};
}

/// Gathers the predictions of all ranks: each point is predicted by one.
std::vector<double> joined(const std::vector<double>& own) {
    std::vector<double> all(own.size());
    MPI_Allreduce(own.data(), all.data(), static_cast<int>(own.size()), MPI_DOUBLE, MPI_SUM, world);
    return all;
}

class HeptRanks : public testing::TestWithParam<std::string> {
protected:
    template <class T>
    void expect_bits(const kernels::Queue& queue, const kernels::Queue& queue_alone) const {
        const HeptCase alone(GetParam());
        const std::vector<double> bits = HeptRun<T>(alone, queue_alone).predictions();
        for (const char* partition : {"contiguous", "scattered", "uneven"}) {
            const HeptCase given = distributed(GetParam(), partition);
            HeptRun<T> run(given, queue);
            EXPECT_TRUE(run.is_finite);
            EXPECT_EQ(joined(run.predictions()), bits) << partition;
            EXPECT_TRUE(run.run());
            EXPECT_EQ(joined(run.predictions()), bits) << partition << ", again";
        }
    }
};

TEST_P(HeptRanks, GiveTheBitsOfOne) {
    const bool is_small = GetParam() == "tiny";
    expect_bits<float>(simd(is_small ? 1 + rank_of(world) % 2 : 1), simd());
}

TEST_P(HeptRanks, GiveTheBitsOfOneInDouble) {
    if (GetParam() == "tracking_1500") GTEST_SKIP() << "takes long, and the others say the same";
    expect_bits<double>({}, {});
}

INSTANTIATE_TEST_SUITE_P(Files, HeptRanks,
                         testing::Values("tiny", "odd_zero", "clouds_duplicate", "masked",
                                         "tracking_1500"),
                         [](const auto& name) { return name.param; });

TEST(HeptRuns, TakeNoMemory) {
    const HeptCase given = distributed("clouds_duplicate", "scattered");
    HeptRun<float> run(given, simd());
    const MemoryMeter meter;
    run.run();
    EXPECT_EQ(meter.n_allocation(), 0);
}

// Every rank finds them in its ghost tokens or in the sums that it is sent, sooner or later; no
// rank waits.
TEST(HeptRuns, ThatAreNotFiniteSomewhereEndEverywhereAndAreForgotten) {
    const HeptCase given = distributed("clouds_duplicate", "contiguous");
    const HeptCase far = distributed("clouds_duplicate", "contiguous", 1e20);
    HeptRun<float> run(given, simd());
    const std::vector<double> good = run.predictions();
    OwnTiles<float> coordinates = given.coordinates<float>();
    const bool is_culprit = rank_of(world) == size_of(world) - 1;
    if (is_culprit) coordinates(0, 0) = far.coordinates<float>()(0, 0);
    run.forward.set_coordinates(given.comm(), coordinates.tiles);
    const bool is_finite = run.run();
    EXPECT_FALSE(is_finite && is_culprit);
    for (int64_t i = 0; i < run.y.tiles.n_point && !run.is_finite; ++i)
        EXPECT_TRUE(std::isnan(run.y(0, i))) << i;
    EXPECT_TRUE(ranks_still_talk(world));
    run.set_coordinates(given);
    EXPECT_TRUE(run.run());
    EXPECT_EQ(run.predictions(), good);
}

}  // namespace
}  // namespace surrogate::test
