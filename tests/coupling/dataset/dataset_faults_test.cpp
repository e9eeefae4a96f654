// SPDX-License-Identifier: Apache-2.0
// Whatever happens while a data set is written, the earlier or the new file is whole, all ranks
// answer the same, and nothing else is left.
#include <gtest/gtest.h>

#include "tests/coupling/dataset/dataset_case.hpp"
#include "tests/coupling/timeloop/interposed_calls.hpp"
#include "tests/support/failing_allocations.hpp"
#include "tests/support/little_room.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

class DatasetFaults : public testing::Test {
protected:
    DatasetFaults() {
        EXPECT_EQ(samples_.save(path_).text, "");
        whole_ = bytes_of(path_);
        MPI_Barrier(world);
        reset();
    }
    void reset() {
        if (rank_of(world) == 0) write_bytes(path_, "earlier");
        MPI_Barrier(world);
    }
    void expect_whole(const Answer& found) {
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        const bool is_new = found.status == SURROGATE_SUCCESS;
        EXPECT_TRUE(bytes_of(path_) == (is_new ? whole_ : "earlier")) << found;
        EXPECT_EQ(folder_.names(), std::vector<std::string>{"set.h5"});
        EXPECT_TRUE(ranks_still_talk(world));
        reset();
    }
    /// Each rank's calls in turn fail, until none is left to reach. Returns how many of rank 0 were
    /// reached, and in *n_success how many of all were survived.
    int at_each_call(Call call, int* n_success) {
        int n_of_rank_0 = 0;
        for (int culprit = 0; culprit < size_of(world); ++culprit) {
            int is_reached = 1;
            for (int n = 1; is_reached; ++n) {
                SCOPED_TRACE("call " + std::to_string(n) + " of rank " + std::to_string(culprit));
                if (rank_of(world) == culprit) await_call(call, Fate::fails, n);
                const Answer found = samples_.save(path_);
                is_reached = rank_of(world) == culprit ? end_awaiting() : 0;
                MPI_Bcast(&is_reached, 1, MPI_INT, culprit, world);
                const bool is_success = found.status == SURROGATE_SUCCESS;
                EXPECT_TRUE(is_success || found.status == SURROGATE_IO) << found;
                *n_success += is_reached && is_success;
                n_of_rank_0 += is_reached && culprit == 0;
                expect_whole(found);
            }
        }
        return n_of_rank_0;
    }

    const SharedFolder folder_{world};
    const std::string path_ = folder_ / "set.h5";
    const PointSamples samples_{world, "scattered", 40};
    std::string whole_;
};

TEST_F(DatasetFaults, OfTheSystemLeaveTheEarlierFile) {
    int n_success = 0;
    const int n = at_each_call(Call::file, &n_success);
    // The file is complete although its folder cannot be brought to the disk.
    EXPECT_EQ(n_success, 1);
    EXPECT_GT(n, 10);
}

TEST_F(DatasetFaults, OfHdf5LeaveTheEarlierFile) {
    int n_success = 0;
    EXPECT_GT(at_each_call(Call::hdf5, &n_success), 50);
    EXPECT_EQ(n_success, 0);
}

TEST_F(DatasetFaults, OfMemoryAreToldToAllRanks) {
    for (int culprit = 0; culprit < size_of(world); ++culprit) {
        int is_reached = 1, n = 1, n_survived = 0;
        for (; is_reached; n += 1 + n / 32) {
            if (rank_of(world) == culprit) fail_allocation(n);
            const Answer found = samples_.save(path_);
            is_reached = rank_of(world) == culprit ? end_failing_allocation() : 0;
            MPI_Bcast(&is_reached, 1, MPI_INT, culprit, world);
            const bool is_success = found.status == SURROGATE_SUCCESS;
            EXPECT_TRUE(is_success || (is_reached && found.status == SURROGATE_NO_MEMORY))
                << "allocation " << n << " of rank " << culprit << ", " << found;
            n_survived += is_reached && is_success;
            expect_whole(found);
        }
        EXPECT_LE(n_survived, 1);  // to bring the folder to the disk, when the file has its name
        EXPECT_GT(n, 10);
    }
}

TEST_F(DatasetFaults, OfAFileThatMayNotGrowLeaveTheEarlierFile) {
    for (int culprit = 0; culprit < size_of(world); ++culprit) {
        Answer found;
        {
            const LittleRoom room(rank_of(world) == culprit ? 2000 : size_t{1} << 40);
            found = samples_.save(path_);
        }
        EXPECT_EQ(found.status, SURROGATE_IO) << found;
        EXPECT_TRUE(found.says("cannot write '" + path_ + "': File too large")) << found;
        expect_whole(found);
    }
}

TEST_F(DatasetFaults, OfAFullDiskLeaveTheEarlierFile) {
    if (size_of(world) > 1) GTEST_SKIP() << "ranks do not share what one of them mounts";
    const SmallDisk disk;
    if (!disk.is_there()) GTEST_SKIP() << "no small file system can be mounted here";
    EXPECT_EQ(samples_.save(disk / "set.h5").text, "");
    const Answer found = PointSamples(world, "contiguous", 5000).save(disk / "set.h5");
    EXPECT_EQ(found.text, "cannot write '" + disk / "set.h5" + "': No space left on device");
    EXPECT_TRUE(bytes_of(disk / "set.h5") == whole_);
    EXPECT_FALSE(std::filesystem::exists(disk / "set.h5.surrogate.tmp"));
}

}  // namespace
}  // namespace surrogate::test
