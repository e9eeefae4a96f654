// SPDX-License-Identifier: Apache-2.0
// A process that is killed at any moment of a save leaves the earlier or the new file, whole; the
// next save cleans up.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>

#include "tests/coupling/timeloop/checkpoint_case.hpp"
#include "tests/coupling/timeloop/interposed_calls.hpp"

namespace surrogate::test {
namespace {

const MPI_Comm self = MPI_COMM_SELF;
const PointsLoop::Kind kind = {.n_point = 40};

/// Saves in a child process, which is killed at its n-th call. Returns whether it was.
bool is_killed_while_saving(const PointsLoop& loop, const std::string& path, Fate fate, int n) {
    const pid_t child = ::fork();
    if (child == 0) {
        await_call(Call::file, fate, n);
        loop.save(path);
        ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

void expect_whole_when(Fate fate) {
    const SharedFolder folder(self);
    const std::string path = folder / "run.h5";
    PointsLoop loop(self, kind);
    int n_old = 0, n_new = 0;
    for (int n = 1;; ++n) {
        loop.snapshot.step = 1;
        ASSERT_EQ(loop.save(path).text, "");  // also over what a killed one has left
        EXPECT_EQ(folder.names(), std::vector<std::string>{"run.h5"});
        loop.snapshot.step = 2;
        if (!is_killed_while_saving(loop, path, fate, n)) break;
        ASSERT_EQ(loop.restore(path).text, "") << n;
        ++(loop.restored.step == 1 ? n_old : n_new);
        loop.snapshot.step = loop.restored.step;
        EXPECT_TRUE(loop.is_restored()) << n;
    }
    EXPECT_GT(n_old, 10);
    EXPECT_GT(n_new, 0);
}

TEST(CheckpointOfAKilledProcess, BeforeACallIsWhole) {
    expect_whole_when(Fate::kills_before);
}

TEST(CheckpointOfAKilledProcess, InTheMiddleOfAWriteOrAfterACallIsWhole) {
    expect_whole_when(Fate::kills_after);
}

}  // namespace
}  // namespace surrogate::test
