// SPDX-License-Identifier: Apache-2.0
// One rank runs out of memory, at every allocation of every collective call in turn: all ranks
// return the same status and text, nobody waits, and the next call works.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/libsurrogate/conformance/faults_memory.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/model_parts.hpp"

namespace surrogate::test {
namespace {

const std::string tiny_model = SURROGATE_TEST_DATA "/flare/tiny.safetensors";

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

TEST_F(FaultsMemory, InModelFromMemoryIsToldToAllRanks) {
    std::ifstream file(tiny_model, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    fail_at_each_allocation(
        [&] {
            surrogate_model* model = nullptr;
            const surrogate_status status =
                surrogate_model_load_memory(context.get(), bytes.data(), std::ssize(bytes), &model);
            EXPECT_EQ(model == nullptr, status != SURROGATE_SUCCESS);
            surrogate_model_destroy(&model);
            return status;
        },
        stride);
}

TEST_F(FaultsMemory, InModelFromTensorsIsToldToAllRanks) {
    const ModelParts<float> parts(tiny_model);
    const std::string card = parts.card.dump();
    const std::vector<surrogate_tensor> tensors = parts.tensors();
    fail_at_each_allocation(
        [&] {
            surrogate_model* model = nullptr;
            const surrogate_status status = surrogate_model_create(
                context.get(), card.c_str(), static_cast<int32_t>(tensors.size()), tensors.data(),
                &model);
            EXPECT_EQ(model == nullptr, status != SURROGATE_SUCCESS);
            surrogate_model_destroy(&model);
            return status;
        },
        stride);
}

TEST_F(FaultsMemory, InSaveIsToldToAllRanks) {
    const Model model(context, tiny_model);
    const std::string path =
        testing::TempDir() + "surrogate_faults_" + std::to_string(context.size()) + ".safetensors";
    fail_at_each_allocation([&] { return surrogate_model_save(model.get(), path.c_str()); },
                            stride);
    EXPECT_NO_THROW(Model(context, path));
    MPI_Barrier(comm);
    if (context.rank() == 0) {
        EXPECT_EQ(std::remove(path.c_str()), 0);
        EXPECT_NE(std::remove((path + ".tmp").c_str()), 0);
    }
}

TEST_F(FaultsMemory, IsNoMatterOfAReduction) {
    std::vector<double> values(1000, 1);
    fail_allocation(1);
    const surrogate_status status =
        surrogate_context_reduce(context.get(), SURROGATE_MAX, 1000, values.data());
    EXPECT_FALSE(end_failing_allocation());
    EXPECT_EQ(status, SURROGATE_SUCCESS);
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
    const std::vector<int64_t> clouds(points.ids.size(), 1);
    const std::vector<double> weights(points.ids.size(), 0.5);
    surrogate_points given = points.points();
    given.cloud = clouds.data();
    given.weight = weights.data();
    fail_at_each_allocation([&] {
        surrogate_domain* domain = nullptr;
        const surrogate_status status =
            surrogate_domain_create_points(context.get(), &given, &domain);
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
