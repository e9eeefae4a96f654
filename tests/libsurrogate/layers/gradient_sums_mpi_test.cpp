// SPDX-License-Identifier: Apache-2.0
// Gradients of weights over ranks.
#include <gtest/gtest.h>

#include "libsurrogate/src/api/handles.hpp"
#include "tests/libsurrogate/layers/gradient_chunks.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

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

// ---- buckets ----

// Among tensors of 3, 20 and 1 elements, the second is complete first, then the others.
const std::vector<int> stages = {1, 0, 2};

TEST_F(GradientsOnRanks, InBucketsTravelWhileBackwardGoesOn) {
    for (const GradientOrder order : orders) {
        GradientSums whole(*master, 2, order);
        add_own(whole, "uneven", 7, 2);
        ASSERT_TRUE(whole.reduce(comm));
        GradientSums sums(*master, 2, order, stages, 1);
        const bool meets = size_of(world) > 1 || order != GradientOrder::single;
        const bool is_exact = order == GradientOrder::exact;
        for (int turn = 0; turn < 2; ++turn) {
            comm.reset_counters();
            sums.clear();
            add_own(sums, "uneven", 7, 2);
            sums.begin(comm);
            const int64_t expected[] = {1, is_exact ? 2 : 1, 0};  // the last waits
            for (const int64_t n_call : expected) {
                sums.finish_stage();
                EXPECT_EQ(comm.n_collective(), meets ? n_call : 0);
                std::vector<double> other = {1};  // calls of backward itself
                comm.all_reduce_sum(std::span(other));
                EXPECT_EQ(other[0], size_of(world));
                comm.reset_counters();
            }
            ASSERT_TRUE(sums.reduce(comm));
        }
        EXPECT_EQ(sums.collectives(), is_exact ? 6 : 3);
        const int64_t n_byte = is_exact                         ? 16 * 24 + 8 * 3 + 8 * 3
                               : order == GradientOrder::single ? 4 * 24
                                                                : 8 * 24;
        EXPECT_EQ(sums.bytes_sent(), n_byte);
        const std::vector<double> total = total_of(sums), expected = total_of(whole);
        for (size_t i = 0; i < total.size(); ++i) {
            const double tolerance = is_exact                         ? 0
                                     : order == GradientOrder::single ? 0x1p-21
                                                                      : 0x1p-38;
            EXPECT_NEAR(total[i], expected[i], tolerance * 0x1p13);
        }
    }
}

TEST_F(GradientsOnRanks, InBucketsAreWholeStagesOfSomeBytes) {
    const auto n_call = [&](int64_t bucket_bytes, std::vector<int> of = stages) {
        return GradientSums(*master, 1, GradientOrder::real, of, bucket_bytes).collectives();
    };
    EXPECT_EQ(n_call(8), 3);
    EXPECT_EQ(n_call(8 * 20), 2);
    EXPECT_EQ(n_call(8 * 23), 2);
    EXPECT_EQ(n_call(8 * 23 + 8), 1);
    EXPECT_EQ(n_call(8, {0, 0, 0}), 1);
    EXPECT_EQ(n_call(8, {}), 1);
    EXPECT_THROW(n_call(8, {0, 1}), impl::Error);
}

/// One rank ends early, or finds its error late: no rank waits, and all ranks get the error.
TEST_F(GradientsOnRanks, InBucketsArePoisonedAtAnyTime) {
    for (const GradientOrder order : orders) {
        GradientSums sums(*master, 2, order, stages, 1);
        for (int culprit = 0; culprit < size_of(world); ++culprit) {
            for (int when = 0; when <= 3; ++when) {
                add_own(sums, "contiguous", 5, 0);
                sums.begin(comm);
                for (int stage = 0; stage < 3; ++stage) {
                    if (rank_of(world) == culprit && stage == when) break;
                    sums.finish_stage();
                }
                if (rank_of(world) == culprit) sums.poison();
                EXPECT_FALSE(sums.reduce(comm));
                sums.clear();
                add_own(sums, "contiguous", 5, 0);
                EXPECT_TRUE(sums.reduce(comm));
                sums.clear();
            }
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
