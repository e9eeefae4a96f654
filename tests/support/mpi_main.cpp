// SPDX-License-Identifier: Apache-2.0
// main() of tests on several ranks: rank 0 prints as usual, the other ranks only what fails on
// them; a failure on any rank fails the program on every rank.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

namespace {

class FailurePrinter : public testing::EmptyTestEventListener {
public:
    explicit FailurePrinter(int rank) : rank_(rank) {}

    // current_test_info() would wait forever below: GoogleTest reports results under its own lock.
    void OnTestStart(const testing::TestInfo& test) override { test_ = &test; }
    void OnTestEnd(const testing::TestInfo&) override { test_ = nullptr; }

    void OnTestPartResult(const testing::TestPartResult& result) override {
        if (!result.failed()) return;
        std::fprintf(stderr, "[rank %d] %s.%s\n%s:%d: Failure\n%s\n", rank_,
                     test_ ? test_->test_suite_name() : "?", test_ ? test_->name() : "?",
                     result.file_name() ? result.file_name() : "?", result.line_number(),
                     result.message());
        std::fflush(stderr);
    }

private:
    int rank_;
    const testing::TestInfo* test_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    testing::InitGoogleTest(&argc, argv);
    if (rank != 0) {
        auto& listeners = testing::UnitTest::GetInstance()->listeners();
        delete listeners.Release(listeners.default_result_printer());
        delete listeners.Release(listeners.default_xml_generator());
        listeners.Append(new FailurePrinter(rank));
    }
    int has_failed = RUN_ALL_TESTS();
    int has_any_failed = 0;
    MPI_Allreduce(&has_failed, &has_any_failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0 && has_any_failed && !has_failed)
        std::printf("[  FAILED  ] on another rank, see above\n");
    MPI_Finalize();
    return has_any_failed;
}
