// SPDX-License-Identifier: Apache-2.0
// One rank runs out of memory, at every allocation of a tree in turn: all ranks return the error,
// no rank waits, and the next tree is right.
#include <gtest/gtest.h>

#include <string>

#include "libsurrogate/src/ranks/partition.hpp"
#include "libsurrogate/src/ranks/split_rules.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/failing_allocations.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/split_reference.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

class SplitMemory : public testing::TestWithParam<std::string> {};

TEST_P(SplitMemory, ThatIsMissingOnOneRankIsReportedOnAll) {
    const auto comm = impl::mpi_communicator(world);
    const Cloud all = cloud_of(GetParam(), 5000, 2);
    const Cloud own = all.rows(own_rows("scattered", all.n(), world));
    const std::vector<int64_t> begins = impl::block_begins(all.n(), 8, comm->size());
    const kernels::Queue queue(kernels::Backend::ref, kernels::VectorLevel::scalar, 2);
    const impl::BranchRule rule(3);
    for (int culprit = 0; culprit < comm->size(); ++culprit) {
        int has_failed = 1, n = 0;
        while (has_failed) {
            ++n;
            const Refusal found = refusal([&] {
                if (comm->rank() == culprit) fail_allocation(n);
                impl::split_positions(*comm, queue, {2, own.x, own.ids}, rule, begins);
            });
            has_failed = comm->rank() == culprit ? end_failing_allocation() : 0;
            MPI_Bcast(&has_failed, 1, MPI_INT, culprit, world);
            ASSERT_TRUE(ranks_still_talk(world));
            EXPECT_EQ(found.status,
                      has_failed ? kernels::Status::no_memory : kernels::Status::success)
                << "rank " << culprit << ", allocation " << n << ": " << found.text;
        }
        EXPECT_GT(n, 20) << "allocations on rank " << culprit;
    }
}

INSTANTIATE_TEST_SUITE_P(Clouds, SplitMemory, testing::Values("uniform", "lattice"),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace surrogate::test
