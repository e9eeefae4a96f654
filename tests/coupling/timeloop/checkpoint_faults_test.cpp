// SPDX-License-Identifier: Apache-2.0
// Whatever happens while a checkpoint is written, the earlier or the new file is whole, all ranks
// answer the same, and nothing else is left.
#include <gtest/gtest.h>

#include <functional>

#include "tests/coupling/timeloop/checkpoint_case.hpp"
#include "tests/coupling/timeloop/interposed_calls.hpp"
#include "tests/support/failing_allocations.hpp"
#include "tests/support/little_room.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

const PointsLoop::Kind kind = {.n_point = 40};

class CheckpointFaults : public testing::Test {
protected:
    CheckpointFaults() {
        EXPECT_EQ(loop_.save(path_).text, "");
        before_ = bytes_of(path_);
        loop_.snapshot.step += 1;
        EXPECT_EQ(loop_.save(folder_ / "after.h5").text, "");
        after_ = bytes_of(folder_ / "after.h5");
        MPI_Barrier(world);
        if (rank_of(world) == 0) std::filesystem::remove(folder_ / "after.h5");
        MPI_Barrier(world);
    }

    /// The same on all ranks; a failure leaves the earlier file, success the new one, which is then
    /// replaced by the earlier one again.
    void expect_whole(const Answer& found) {
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        const bool is_new = found.status == SURROGATE_SUCCESS;
        EXPECT_TRUE(bytes_of(path_) == (is_new ? after_ : before_)) << found;
        EXPECT_EQ(folder_.names(), std::vector<std::string>{"run.h5"});
        EXPECT_TRUE(ranks_still_talk(world));
        if (is_new && rank_of(world) == 0) write_bytes(path_, before_);
        MPI_Barrier(world);
    }

    /// Calls work with n = 1, 2, .. of each rank's calls in turn, until none is left to reach; work
    /// takes what a save answers. Returns how many were reached on rank 0.
    int at_each_call(Call call, Fate fate, const std::function<void(const Answer&)>& work) {
        int n_of_rank_0 = 0;
        for (int culprit = 0; culprit < size_of(world); ++culprit) {
            int is_reached = 1;
            for (int n = 1; is_reached; ++n) {
                if (rank_of(world) == culprit) await_call(call, fate, n);
                const Answer found = loop_.save(path_);
                is_reached = rank_of(world) == culprit ? end_awaiting() : 0;
                MPI_Bcast(&is_reached, 1, MPI_INT, culprit, world);
                SCOPED_TRACE("call " + std::to_string(n) + " of rank " + std::to_string(culprit));
                if (is_reached) work(found);
                if (is_reached && culprit == 0) ++n_of_rank_0;
                expect_whole(found);
            }
        }
        return n_of_rank_0;
    }

    const SharedFolder folder_{world};
    const std::string path_ = folder_ / "run.h5";
    PointsLoop loop_{world, kind};
    std::string before_, after_;
};

TEST_F(CheckpointFaults, OfTheSystemAreIoAndLeaveTheEarlierFile) {
    int n_success = 0;
    const int n = at_each_call(Call::file, Fate::fails, [&](const Answer& found) {
        n_success += found.status == SURROGATE_SUCCESS;
        if (found.status != SURROGATE_SUCCESS) {
            EXPECT_EQ(found.status, SURROGATE_IO) << found;
            EXPECT_TRUE(found.says("No space left on device")) << found;
        }
    });
    // The file is complete although its folder cannot be brought to the disk.
    EXPECT_EQ(n_success, 1);
    EXPECT_GT(n, 10);
}

TEST_F(CheckpointFaults, ThatAreShortWritesAreNone) {
    const int n = at_each_call(Call::file, Fate::is_short,
                               [&](const Answer& found) { EXPECT_EQ(found.text, ""); });
    EXPECT_GT(n, 10);
}

TEST_F(CheckpointFaults, OfHdf5LeaveTheEarlierFile) {
    const int n = at_each_call(Call::hdf5, Fate::fails, [&](const Answer& found) {
        EXPECT_EQ(found.status, SURROGATE_IO) << found;
        EXPECT_TRUE(found.says("cannot ")) << found;
    });
    EXPECT_GT(n, 50);
}

TEST_F(CheckpointFaults, OfHdf5WhileReadingChangeNothing) {
    int is_reached = 1, n = 1;
    for (; is_reached; ++n) {
        if (rank_of(world) == 0) await_call(Call::hdf5, Fate::fails, n);
        const Answer found = loop_.restore(path_);
        is_reached = rank_of(world) == 0 ? end_awaiting() : 0;
        MPI_Bcast(&is_reached, 1, MPI_INT, 0, world);
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_EQ(found.status, is_reached ? SURROGATE_IO : SURROGATE_SUCCESS) << n << found;
        EXPECT_TRUE(!is_reached || loop_.restored == emptied(loop_.snapshot));
    }
    EXPECT_GT(n, 50);
}

TEST_F(CheckpointFaults, OfCollectivesLeaveTheEarlierFile) {
    int is_reached = 1, n = 1, n_new = 0;
    for (; is_reached; ++n) {
        PointsLoop loop(world, kind);  // a context is broken after a failure of MPI
        loop.snapshot.step += 1;
        await_call(Call::mpi, Fate::fails, n);
        const Answer found = loop.save(path_);
        is_reached = end_awaiting();
        EXPECT_TRUE(!is_reached || found.status == SURROGATE_MPI ||
                    found.status == SURROGATE_BROKEN)
            << n << found;
        MPI_Barrier(world);
        const std::string bytes = bytes_of(path_);
        EXPECT_TRUE(bytes == after_ || (is_reached && bytes == before_)) << n;
        n_new += is_reached && bytes == after_;
        EXPECT_EQ(folder_.names(), std::vector<std::string>{"run.h5"}) << n;
        MPI_Barrier(world);
    }
    EXPECT_LE(n_new, 1);  // the last agreement, after the file has its name
    EXPECT_GT(n, 20);
}

TEST_F(CheckpointFaults, OfMemoryAreToldToAllRanks) {
    const auto fail_at_each = [&](const std::function<Answer()>& work) {
        for (int culprit = 0; culprit < size_of(world); ++culprit) {
            int is_reached = 1, n = 1;
            for (; is_reached; n += 1 + n / 32) {
                if (rank_of(world) == culprit) fail_allocation(n);
                const Answer found = work();
                is_reached = rank_of(world) == culprit ? end_failing_allocation() : 0;
                MPI_Bcast(&is_reached, 1, MPI_INT, culprit, world);
                EXPECT_EQ(found.status, is_reached ? SURROGATE_NO_MEMORY : SURROGATE_SUCCESS)
                    << "allocation " << n << " of rank " << culprit << ", " << found;
                EXPECT_EQ(found, answer_of_rank_0(found, world));
            }
            EXPECT_GT(n, 10);
        }
    };
    fail_at_each([&] { return loop_.save(path_); });
    Snapshot restored = emptied(loop_.snapshot);
    fail_at_each([&] { return loop_.restore_into(path_, &restored); });
    EXPECT_TRUE(restored == loop_.snapshot);
    EXPECT_EQ(folder_.names(), std::vector<std::string>{"run.h5"});
}

TEST_F(CheckpointFaults, OfAFileThatMayNotGrowLeaveTheEarlierFile) {
    for (int culprit = 0; culprit < size_of(world); ++culprit) {
        Answer found;
        {
            const LittleRoom room(rank_of(world) == culprit ? 2000 : size_t{1} << 40);
            found = loop_.save(path_);
        }
        EXPECT_EQ(found.status, SURROGATE_IO) << found;
        EXPECT_TRUE(found.says("cannot write '" + path_ + "': File too large")) << found;
        expect_whole(found);
    }
}

TEST_F(CheckpointFaults, OfAFullDiskLeaveTheEarlierFile) {
    if (size_of(world) > 1) GTEST_SKIP() << "ranks do not share what one of them mounts";
    const SmallDisk disk;
    if (!disk.is_there()) GTEST_SKIP() << "no small file system can be mounted here";
    EXPECT_EQ(loop_.save(disk / "run.h5").text, "");
    const std::string before = bytes_of(disk / "run.h5");
    const Answer found = PointsLoop(world, {.n_point = 5000}).save(disk / "run.h5");
    EXPECT_EQ(found.status, SURROGATE_IO);
    EXPECT_EQ(found.text, "cannot write '" + disk / "run.h5" + "': No space left on device");
    EXPECT_TRUE(bytes_of(disk / "run.h5") == before);
    EXPECT_FALSE(std::filesystem::exists(disk / "run.h5.surrogate.tmp"));
}

}  // namespace
}  // namespace surrogate::test
