// SPDX-License-Identifier: Apache-2.0
// A property of every family: one rank runs out of memory, at every allocation of every collective
// call in turn. All ranks return the same status and text, no rank waits, and the next call works.
#include <gtest/gtest.h>

#include <string>

#include "tests/libsurrogate/conformance/family_run.hpp"
#include "tests/libsurrogate/conformance/faults_memory.hpp"

namespace surrogate::test {
namespace {

class FamilyMemory : public FaultsMemory, public testing::WithParamInterface<Tested> {
protected:
    const std::shared_ptr<const std::string> file = GetParam().network->file();
};

TEST_P(FamilyMemory, MissingForAModelIsToldToAllRanks) {
    fail_at_each_allocation(
        [&] {
            surrogate_model* model = nullptr;
            const surrogate_status status =
                surrogate_model_load(context.get(), file->c_str(), &model);
            EXPECT_EQ(model == nullptr, status != SURROGATE_SUCCESS);
            surrogate_model_destroy(&model);
            return status;
        },
        [&](int64_t n) { return context.size() == 1 ? n + 1 + n / 1000 : stride(n); });
}

TEST_P(FamilyMemory, MissingForADomainIsToldToAllRanks) {
    const Model model(context, *file);
    const FamilyDomains domains(context, model, GetParam(), "scattered");
    for (const Share* share : {&domains.in, &domains.out}) {
        fail_at_each_allocation([&] {
            surrogate_domain* domain = nullptr;
            const surrogate_status status = share->create(context.get(), &domain);
            EXPECT_EQ(domain == nullptr, status != SURROGATE_SUCCESS);
            surrogate_domain_destroy(&domain);
            return status;
        });
    }
}

TEST_P(FamilyMemory, MissingForAPlanIsToldToAllRanks) {
    const Model model(context, *file);
    const FamilyDomains domains(context, model, GetParam(), "scattered");
    for (const Mode& mode : GetParam().family->modes) {
        SCOPED_TRACE(mode.name);
        const Options options = options_of(mode.options, {{"threads", "2"}});
        n_trim = GetParam().network->n_trim * context.size();
        fail_at_each_allocation(
            [&] {
                surrogate_plan* plan = nullptr;
                const surrogate_status status = surrogate_plan_create(
                    model.get(), domains.input.get(), domains.output(), options.get(), &plan);
                EXPECT_EQ(plan == nullptr, status != SURROGATE_SUCCESS);
                surrogate_plan_destroy(&plan);
                return status;
            },
            [&](int64_t n) { return n + 1 + n / GetParam().network->n_failing_in_turn; });
    }
}

TEST_P(FamilyMemory, MissingWhileARunComplainsStillLetsTheOthersGoOn) {
    const Model model(context, *file);
    FamilyRun run(context, model, GetParam(), "contiguous", {});
    for (int culprit = 0; culprit < size_of(comm); ++culprit) {
        const bool is_culprit = rank_of(comm) == culprit;
        const auto in = run.arrays(false), out = run.arrays(is_culprit ? false : true);
        if (is_culprit) fail_allocation(1);
        const surrogate_status status =
            surrogate_plan_run_network(run.plan.get(), static_cast<int32_t>(in.size()), in.data(),
                                       static_cast<int32_t>(out.size()), out.data());
        if (is_culprit) {
            EXPECT_TRUE(end_failing_allocation());
        }
        EXPECT_EQ(status, is_culprit ? SURROGATE_NO_MEMORY : SURROGATE_NOT_FINITE);
        EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS);
    }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyMemory, testing::ValuesIn(tested_networks(is_small)),
                         name_of_tested);

// ---- what no family has a part in ----

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

TEST_F(FaultsMemory, InCheckCaseIsToldToAllRanks) {
    fail_at_each_allocation(
        [&] {
            surrogate_check_case* check_case = nullptr;
            const surrogate_status status = surrogate_check_case_load(
                context.get(), SURROGATE_TEST_DATA "/flare/tiny.safetensors", &check_case);
            surrogate_check_case_destroy(&check_case);
            return status;
        },
        stride);
}

}  // namespace
}  // namespace surrogate::test
