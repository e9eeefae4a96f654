// SPDX-License-Identifier: Apache-2.0
// Points that no tree can be made of: all ranks say so, and none waits for ever.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "libsurrogate/src/ranks/partition.hpp"
#include "libsurrogate/src/ranks/split_rules.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/split_reference.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

class SplitRefusals : public testing::Test {
protected:
    SplitRefusals() {
        for (int64_t i = 0; i < n; ++i) all_.ids[static_cast<size_t>(i)] = i;
    }

    /// Returns the error for the local parts of all_, on which ranks must agree.
    Refusal refused(const char* partition = "contiguous") {
        const Cloud own = all_.rows(own_rows(partition, n, world));
        const Refusal found = refusal([&] {
            const TrapGuard traps;
            impl::split_positions(*comm_, kernels::Queue(), {2, own.x, own.ids}, impl::BallRule(n),
                                  impl::block_begins(n, 8, comm_->size()));
        });
        EXPECT_EQ(gathered(std::vector{static_cast<int>(found.status)}, world),
                  std::vector(static_cast<size_t>(comm_->size()), static_cast<int>(found.status)));
        EXPECT_TRUE(ranks_still_talk(world));
        return found;
    }

    static constexpr int64_t n = 50;
    Cloud all_ = cloud_of("uniform", n, 2);
    const std::unique_ptr<impl::Communicator> comm_ = impl::mpi_communicator(world);
};

TEST_F(SplitRefusals, NothingIsRefusedOfGoodPoints) {
    EXPECT_EQ(refused().status, kernels::Status::success);
}

TEST_F(SplitRefusals, CoordinatesThatAreNotFiniteAreCountedAndNamed) {
    all_.x[7] = std::numeric_limits<double>::quiet_NaN();
    all_.x[n + 7] = std::numeric_limits<double>::infinity();
    all_.x[n + 49] = -std::numeric_limits<double>::infinity();
    const Refusal found = refused();
    EXPECT_EQ(found.status, kernels::Status::invalid_argument);
    EXPECT_TRUE(found.says("point with global id 7 is") && found.says("2 points")) << found.text;
}

TEST_F(SplitRefusals, CoordinatesWhoseExtentMayOverflowAreNamed) {
    all_.x[n + 33] = 1e308;
    const Refusal found = refused("scattered");
    EXPECT_EQ(found.status, kernels::Status::invalid_argument);
    EXPECT_TRUE(found.says("global id 33 is 1e+308") && found.says("1 point ")) << found.text;
    all_.x[n + 33] = 8.9e307;
    all_.x[n + 34] = -8.9e307;
    EXPECT_EQ(refused("scattered").status, kernels::Status::success);
}

TEST_F(SplitRefusals, DenseIdsThatAreGivenTwiceAreNamed) {
    all_.ids[41] = 7;
    for (const char* partition : {"contiguous", "scattered", "uneven"}) {
        const Refusal found = refused(partition);
        EXPECT_EQ(found.status, kernels::Status::invalid_argument);
        EXPECT_TRUE(found.says("global id 7 is given twice")) << found.text;
    }
}

TEST_F(SplitRefusals, SparseIdsThatAreGivenTwiceAreNamed) {
    for (int64_t& id : all_.ids) id = (id - 25) * 300000000000000007;
    EXPECT_EQ(refused("scattered").status, kernels::Status::success);
    all_.ids[41] = all_.ids[7];
    for (const char* partition : {"contiguous", "scattered"}) {
        const Refusal found = refused(partition);
        EXPECT_EQ(found.status, kernels::Status::invalid_argument);
        EXPECT_TRUE(found.says("global id " + std::to_string(all_.ids[7]) + " is given twice"))
            << found.text;
    }
}

TEST_F(SplitRefusals, IdsThatEndWhereTheNextRanksBeginAreNoMistake) {
    for (int64_t& id : all_.ids) id = -id;
    EXPECT_EQ(refused("contiguous").status, kernels::Status::success);
    EXPECT_EQ(refused("scattered").status, kernels::Status::success);
}

TEST_F(SplitRefusals, ShareOfPositionsThatDoesNotFitIsADefect) {
    const Cloud own = all_.rows(own_rows("contiguous", n, world));
    const Refusal found = refusal([&] {
        impl::split_positions(*comm_, kernels::Queue(), {2, own.x, own.ids}, impl::BallRule(n),
                              impl::block_begins(n + 1, 8, comm_->size()));
    });
    EXPECT_EQ(found.status, kernels::Status::internal);
    EXPECT_TRUE(ranks_still_talk(world));
}

}  // namespace
}  // namespace surrogate::test
