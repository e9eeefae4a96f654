// SPDX-License-Identifier: Apache-2.0
// The n-th collective call of MPI in a step fails, on all ranks: the step returns an error
// everywhere, weights are those before or after it, everything can be destroyed, and the checkpoint
// goes on.
#include <gtest/gtest.h>

#include "tests/libsurrogate/train/golden_ranks.hpp"
#include "tests/support/world.hpp"

namespace {

int64_t countdown = 0;  // 0: none fails
bool is_made = false;   // calls that fail are made first
int64_t n_pending = 0;  // reductions begun by calls that failed, or not waited for

bool fails_now() {
    return countdown > 0 && --countdown == 0;
}

/// A call in the place of MPI's own.
template <class Real>
int interposed(const Real& real) {
    if (!fails_now()) return real();
    if (is_made) real();
    return MPI_ERR_INTERN;
}

}  // namespace

// These take the place of MPI's own for the whole program.
extern "C" {

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
    return interposed([=] { return PMPI_Allreduce(in, out, count, type, op, comm); });
}

int MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
    return interposed([=] {
        ++n_pending;
        return PMPI_Iallreduce(in, out, count, type, op, comm, request);
    });
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return interposed([=] {
        --n_pending;
        return PMPI_Wait(request, status);
    });
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return interposed([=] { return PMPI_Bcast(buffer, count, type, root, comm); });
}

}  // extern "C"

namespace surrogate::test {
namespace {

class FailingCollectives : public testing::TestWithParam<bool> {
protected:
    GoldenRun fresh() const {
        return on_ranks({{"reproducible", GetParam() ? "true" : "false"}}, settings());
    }
    static Settings settings() {
        Settings settings = golden_settings();
        settings["bucket"] = "64";
        return settings;
    }
    static surrogate_status step(GoldenRun& run, int64_t sample) {
        run.load(GoldenRun::golden_sample(1, sample));
        return surrogate_trainer_step(run.trainer.get(), nullptr);
    }
};

TEST_P(FailingCollectives, InAStepAreErrorsOfAllRanks) {
    const std::string path = shared_path("collectives");
    GoldenRun whole = fresh();
    whole.golden_step(0);
    whole.trainer.save(path);
    const std::vector<double> before = whole.weights();
    whole.golden_step(1);
    const std::vector<double> after = whole.weights();
    int64_t n_old = 0, n_reached = 0, n_left = 0;
    for (const bool made : {false, true}) {
        for (int64_t n = 1;; ++n) {
            GoldenRun run = fresh();
            run.trainer.restore(path);
            is_made = made;
            n_pending = 0;
            countdown = n;
            surrogate_status status = step(run, 0);
            if (status == SURROGATE_SUCCESS) status = step(run, 1);
            const bool has_failed = countdown == 0;
            countdown = 0;
            EXPECT_TRUE(ranks_still_talk(world));
            if (!has_failed) {
                EXPECT_EQ(status, SURROGATE_SUCCESS);
                EXPECT_EQ(n_pending, 0);
                EXPECT_EQ(run.weights(), after);
                break;
            }
            ++n_reached;
            n_left += n_pending > 0 ? 1 : 0;
            EXPECT_TRUE(status == SURROGATE_MPI || status == SURROGATE_BROKEN)
                << "collective " << n << ": " << answer(status);
            // Only failures after the optimizer step leave new weights.
            const bool is_old = run.weights() == before;
            EXPECT_TRUE(is_old || run.weights() == after) << "collective " << n;
            n_old += is_old ? 1 : 0;
            EXPECT_NE(step(run, 0), SURROGATE_SUCCESS) << "the context is broken";
        }
    }
    EXPECT_GT(n_reached, 20);
    EXPECT_GE(n_old, n_reached - 4);
    if (size_of(world) > 1 || GetParam()) {
        EXPECT_GT(n_left, 4) << "some failed while reductions were under way";
    }
    GoldenRun again = fresh();
    again.trainer.restore(path);
    again.golden_step(1);
    EXPECT_EQ(again.weights(), after);
}

INSTANTIATE_TEST_SUITE_P(, FailingCollectives, testing::Bool(), [](const auto& reproducible) {
    return reproducible.param ? "Reproducible" : "Fast";
});

}  // namespace
}  // namespace surrogate::test
