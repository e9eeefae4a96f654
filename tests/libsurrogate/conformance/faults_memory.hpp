// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/support/failing_allocations.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {

/// One rank runs out of memory, at every allocation of a collective call in turn: all ranks return
/// the same status and text, no rank waits, and the next call works.
class FaultsMemory : public testing::Test {
protected:
    const MPI_Comm comm = MPI_COMM_WORLD;

    /// `call` is collective, undoes itself and allocates nothing but what the library does. `next`
    /// gives the allocation to fail after the n-th.
    void fail_at_each_allocation(
        const std::function<surrogate_status()>& call,
        const std::function<int64_t(int64_t)>& next = [](int64_t n) { return n + 1; }) {
        n_done_without_ = 0;
        for (int culprit = 0; culprit < size_of(comm); ++culprit) {
            int has_failed = 1;
            int64_t n_point = 0;
            for (int64_t n = 1; has_failed; n = next(n)) {
                if (rank_of(comm) == culprit) fail_allocation(n);
                const surrogate_status status = call();
                has_failed = rank_of(comm) == culprit ? end_failing_allocation() : 0;
                MPI_Bcast(&has_failed, 1, MPI_INT, culprit, comm);
                EXPECT_TRUE(ranks_still_talk(comm));
                const Answer found = answer(status);
                EXPECT_EQ(found, answer_of_rank_0(found, comm));
                expect(found, has_failed ? culprit : -1, n);
                ++n_point;
            }
            EXPECT_GT(n_point, 1) << "the call allocates nothing on rank " << culprit;
        }
        EXPECT_LE(n_done_without_, n_trim);
    }

    /// shrink_to_fit does without memory, as it may: one buffer of a model file is trimmed by it.
    int n_trim = 1;
    Context context = mpi_context(MPI_COMM_WORLD);

private:
    void expect(const Answer& found, int culprit, int64_t n) {
        const bool done_without = culprit >= 0 && found.status == SURROGATE_SUCCESS;
        n_done_without_ += done_without;
        if (done_without) return;
        const std::string name = "rank " + std::to_string(culprit) + ": ";
        EXPECT_EQ(found.status, culprit < 0 ? SURROGATE_SUCCESS : SURROGATE_NO_MEMORY)
            << name << "allocation " << n << ", " << found;
        EXPECT_TRUE(culprit < 0 || size_of(comm) == 1 || found.text.starts_with(name))
            << name << "allocation " << n << ", " << found;
    }

    int n_done_without_ = 0;
};

/// Returns a growing stride that tries enough of the thousands of allocations between two
/// agreements, such as allocations of JSON values.
inline int64_t stride(int64_t n) {
    return n + 1 + n / 32;
}

}  // namespace surrogate::test
