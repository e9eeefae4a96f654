// SPDX-License-Identifier: Apache-2.0
// The n-th collective call of MPI fails, on all ranks: each call of the loop returns, no array of
// the solver has changed, and everything can be destroyed.
#include "tests/coupling/timeloop/loop_case.hpp"

namespace {

int64_t countdown = 0;  // 0: none fails

bool fails_now() {
    return countdown > 0 && --countdown == 0;
}

}  // namespace

// These take the place of MPI's own for the whole program.
extern "C" {

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
    return fails_now() ? MPI_ERR_INTERN : PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return fails_now() ? MPI_ERR_INTERN : PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Allgather(const void* in, int n_in, MPI_Datatype type_in, void* out, int n_out,
                  MPI_Datatype type_out, MPI_Comm comm) {
    return fails_now() ? MPI_ERR_INTERN
                       : PMPI_Allgather(in, n_in, type_in, out, n_out, type_out, comm);
}

}  // extern "C"

namespace surrogate::test {
namespace {

/// call(case) with each collective failing in turn, until none is reached. Returns how many were.
template <class Call>
int64_t fail_each_collective(const Call& call) {
    for (int64_t n = 1;; ++n) {
        HeightLoop c;
        c.loop.conserve("mass", "height", 0);
        const std::vector<double> before = c.own.height;
        countdown = n;
        const surrogate_status status = call(c);
        const bool has_failed = countdown == 0;
        countdown = 0;
        EXPECT_TRUE(ranks_still_talk(c.comm));
        if (!has_failed) {
            EXPECT_EQ(status, SURROGATE_SUCCESS);
            return n - 1;
        }
        EXPECT_TRUE(status == SURROGATE_MPI || status == SURROGATE_BROKEN)
            << "collective " << n << ": " << answer(status);
        EXPECT_TRUE(same_bits(c.own.height, before)) << "collective " << n;
    }
}

TEST(TimeLoopCollectives, ThatFailInAStepLeaveTheState) {
    const int64_t n = fail_each_collective(
        [](HeightLoop& c) { return surrogate_timeloop_step(c.loop.get(), 1, nullptr); });
    EXPECT_GE(n, 4);  // integrals and outcome, two each
}

TEST(TimeLoopCollectives, ThatFailInAStepThatIsCorrectedLeaveTheState) {
    const int64_t n = fail_each_collective([](HeightLoop& c) {
        c.loop.set("drift", "correct");
        c.loop.set("step_s", "1");
        return surrogate_timeloop_step(c.loop.get(), 2, nullptr);
    });
    EXPECT_GE(n, 10);  // two evaluations, and the worst values of each
}

TEST(TimeLoopCollectives, ThatFailInAMarkLeaveTheState) {
    EXPECT_GE(fail_each_collective(
                  [](HeightLoop& c) { return surrogate_timeloop_snapshot(c.loop.get()); }),
              1);
}

TEST(TimeLoopCollectives, ThatFailInCreateGiveNoLoop) {
    const int64_t n = fail_each_collective([](HeightLoop& c) {
        surrogate_timeloop* loop = nullptr;
        const surrogate_status status = surrogate_timeloop_create(c.plan.get(), &loop);
        EXPECT_EQ(loop == nullptr, status != SURROGATE_SUCCESS);
        surrogate_timeloop_destroy(&loop);
        return status;
    });
    EXPECT_GE(n, 4);
}

}  // namespace
}  // namespace surrogate::test
