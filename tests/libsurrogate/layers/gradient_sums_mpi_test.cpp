// SPDX-License-Identifier: Apache-2.0
// Gradients of weights over ranks.
#include <gtest/gtest.h>

#include "libsurrogate/src/api/handles.hpp"
#include "tests/libsurrogate/layers/gradient_chunks.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {
namespace {

const MPI_Comm world = MPI_COMM_WORLD;
constexpr GradientOrder orders[] = {GradientOrder::single, GradientOrder::real,
                                    GradientOrder::exact};

class GradientsOnRanks : public testing::Test {
protected:
    /// Chunks of this rank on two threads, and the sums of all ranks.
    void add_own(GradientSums& sums, const char* partition, int64_t n_chunk, int step) const {
        for (const int64_t number : own_rows(partition, n_chunk, world))
            add(sums, static_cast<int>(number % 2), chunk(*master, static_cast<int>(number), step));
    }

    const std::shared_ptr<impl::MasterWeights> master = three_tensors();
    const Context context = mpi_context(world);
    impl::Communicator& comm = context.get()->context->comm();
    const TrapGuard traps;
};

TEST_F(GradientsOnRanks, ThatAreExactDoNotDependOnThePartition) {
    const std::unique_ptr<impl::Communicator> self = impl::self_communicator();
    for (const int64_t n_chunk : {0, 1, 2, 9}) {
        for (const int step : {0, 13, 45, 100, -45}) {
            GradientSums alone(*master, 1, GradientOrder::exact);
            for (int number = 0; number < n_chunk; ++number)
                add(alone, 0, chunk(*master, number, step));
            ASSERT_TRUE(alone.reduce(*self));
            for (const char* partition : {"contiguous", "scattered", "uneven"}) {
                GradientSums sums(*master, 2, GradientOrder::exact);
                add_own(sums, partition, n_chunk, step);
                ASSERT_TRUE(sums.reduce(comm));
                EXPECT_EQ(total_of(sums), total_of(alone)) << partition << " " << step;
            }
        }
    }
}

TEST_F(GradientsOnRanks, AreTheSameOnAllAndWhatTheySay) {
    for (const GradientOrder order : orders) {
        GradientSums sums(*master, 2, order);
        add_own(sums, "uneven", 7, 2);
        comm.reset_counters();
        ASSERT_TRUE(sums.reduce(comm));
        const bool meets = size_of(world) > 1 || order != GradientOrder::single;
        EXPECT_EQ(comm.bytes_sent(), meets ? sums.bytes_sent() : 0);
        EXPECT_EQ(comm.n_collective(), meets ? sums.collectives() : 0);
        const std::vector<double> total = total_of(sums), all = gathered(total, world);
        for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], total[i % total.size()]);
        GradientSums alone(*master, 1, GradientOrder::real);
        for (int number = 0; number < 7; ++number) add(alone, 0, chunk(*master, number, 2));
        ASSERT_TRUE(alone.reduce(*impl::self_communicator()));
        const double tolerance = order == GradientOrder::single ? 0x1p-21 : 0x1p-38;
        for (size_t i = 0; i < total.size(); ++i)
            EXPECT_NEAR(total[i], alone.total()[i], tolerance * 0x1p13);
    }
}

TEST_F(GradientsOnRanks, WithNaNOrPoisonOnOneAreReportedOnAllAndThenForgotten) {
    for (const GradientOrder order : orders) {
        GradientSums sums(*master, 2, order);
        for (int culprit = 0; culprit < size_of(world); ++culprit) {
            const bool is_culprit = rank_of(world) == culprit;
            add_own(sums, "contiguous", 5, 0);
            if (is_culprit) add(sums, 1, std::vector<double>(master->values().size(), double(NAN)));
            EXPECT_FALSE(sums.reduce(comm));
            sums.clear();
            add_own(sums, "contiguous", 5, 0);
            if (is_culprit) sums.poison();
            EXPECT_FALSE(sums.reduce(comm));
            sums.clear();
            add_own(sums, "contiguous", 5, 0);
            EXPECT_TRUE(sums.reduce(comm));
            sums.clear();
        }
    }
}

/// A number that no float can hold must not stop a host that traps overflow.
TEST_F(GradientsOnRanks, BeyondTheRangeOfFloatsAreNotFinite) {
    GradientSums sums(*master, 1, GradientOrder::single);
    add(sums, 0, std::vector<double>(master->values().size(), -1e60));
    const bool is_good = sums.reduce(comm);
    EXPECT_EQ(is_good, size_of(world) == 1);
}

}  // namespace
}  // namespace surrogate::test
