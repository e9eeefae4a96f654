// SPDX-License-Identifier: Apache-2.0
// One rank runs out of memory, at every allocation of every collective call in turn: all ranks
// return the same status and text, nobody waits, and the next call works.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/support/darcy_case.hpp"
#include "tests/support/failing_allocations.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {
namespace {

const std::string tiny_model = SURROGATE_TEST_DATA "/flare/tiny.safetensors";

class FaultsMemory : public testing::Test {
protected:
    const MPI_Comm comm = MPI_COMM_WORLD;

    /// `call` is collective, undoes itself and allocates nothing but what the library does. `next`
    /// gives the allocation to fail after the n-th.
    void fail_at_each_allocation(
        const std::function<surrogate_status()>& call,
        const std::function<int64_t(int64_t)>& next = [](int64_t n) { return n + 1; }) {
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
        EXPECT_LE(n_done_without_, 1);
    }

    Context context = mpi_context(MPI_COMM_WORLD);

private:
    void expect(const Answer& found, int culprit, int64_t n) {
        // std::string::shrink_to_fit does without memory, as it may: one buffer of a model file is
        // trimmed by it.
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

TEST_F(FaultsMemory, InContextIsToldToAllRanks) {
    const Options options{{"threads", "1"}};
    fail_at_each_allocation([&] {
        surrogate_context* created = nullptr;
        const surrogate_status status = surrogate_context_create_mpi(comm, options.get(), &created);
        EXPECT_EQ(created == nullptr, status != SURROGATE_SUCCESS);
        surrogate_context_destroy(&created);
        return status;
    });
}

// Rank 0 parses thousands of JSON values between two agreements: of those a growing stride tries
// enough.
int64_t stride(int64_t n) {
    return n + 1 + n / 32;
}

TEST_F(FaultsMemory, InModelIsToldToAllRanks) {
    fail_at_each_allocation(
        [&] {
            surrogate_model* model = nullptr;
            const surrogate_status status =
                surrogate_model_load(context.get(), tiny_model.c_str(), &model);
            EXPECT_EQ(model == nullptr, status != SURROGATE_SUCCESS);
            surrogate_model_destroy(&model);
            return status;
        },
        stride);
}

TEST_F(FaultsMemory, InCheckCaseIsToldToAllRanks) {
    fail_at_each_allocation(
        [&] {
            surrogate_check_case* check_case = nullptr;
            const surrogate_status status =
                surrogate_check_case_load(context.get(), tiny_model.c_str(), &check_case);
            surrogate_check_case_destroy(&check_case);
            return status;
        },
        stride);
}

TEST_F(FaultsMemory, InDomainIsToldToAllRanks) {
    const DarcyCase points(own_rows("scattered", 20, comm));
    const surrogate_array x = matrix(points.x.data(), points.n(), 2);
    fail_at_each_allocation([&] {
        surrogate_domain* domain = nullptr;
        const surrogate_status status =
            surrogate_domain_create_points(context.get(), &x, points.ids.data(), &domain);
        surrogate_domain_destroy(&domain);
        return status;
    });
}

class FaultsMemoryPlan : public FaultsMemory, public testing::WithParamInterface<const char*> {};

TEST_P(FaultsMemoryPlan, IsToldToAllRanks) {
    const std::string mode = GetParam();
    Options options{{"threads", "2"}, {"reproducible", mode == "reproducible" ? "true" : "false"}};
    if (mode == "fp64") options.set("precision", "fp64");
    const Model model(context, tiny_model);
    const DarcyCase points(own_rows("scattered", 20, comm));
    const Domain domain = points.domain(context);
    fail_at_each_allocation([&] {
        surrogate_plan* plan = nullptr;
        const surrogate_status status =
            surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan);
        EXPECT_EQ(plan == nullptr, status != SURROGATE_SUCCESS);
        surrogate_plan_destroy(&plan);
        return status;
    });
}

INSTANTIATE_TEST_SUITE_P(Modes, FaultsMemoryPlan, testing::Values("fast", "reproducible", "fp64"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST_F(FaultsMemory, WhileARunComplainsStillLetsTheOthersGoOn) {
    const Model model(context, darcy_model);
    DarcyCase points(own_rows("contiguous", 20, comm));
    const Domain domain = points.domain(context);
    Plan plan(model, domain);
    points.bind(plan);
    for (int culprit = 0; culprit < size_of(comm); ++culprit) {
        const bool is_culprit = rank_of(comm) == culprit;
        if (is_culprit) {
            surrogate_plan_unbind(plan.get());
            fail_allocation(1);
        }
        const surrogate_status status = surrogate_plan_run(plan.get());
        if (is_culprit) {
            EXPECT_TRUE(end_failing_allocation());
        }
        EXPECT_EQ(status, is_culprit ? SURROGATE_NO_MEMORY : SURROGATE_NOT_FINITE);
        points.bind(plan);
        EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_SUCCESS);
    }
}

}  // namespace
}  // namespace surrogate::test
