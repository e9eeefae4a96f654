// SPDX-License-Identifier: Apache-2.0
// One rank runs out of memory, at every allocation in turn of a collective call that no family
// takes part in.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/libsurrogate/conformance/faults_memory.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/model_parts.hpp"
#include "tests/support/small_darcy_model.hpp"

namespace surrogate::test {
namespace {

const std::string tiny_model = SURROGATE_TEST_DATA "/flare/tiny.safetensors";

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
        EXPECT_NE(std::remove((path + ".surrogate.tmp").c_str()), 0);
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

TEST_F(FaultsMemory, InDomainWithCloudsAndWeightsIsToldToAllRanks) {
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

TEST_F(FaultsMemory, InOrderIsToldToAllRanks) {
    const Domain domain = DarcyCase(own_rows("scattered", 20, comm)).domain(context);
    fail_at_each_allocation([&] {
        surrogate_ordering* order = nullptr;
        const surrogate_status status = surrogate_ordering_create(domain.get(), 16, &order);
        EXPECT_EQ(order == nullptr, status != SURROGATE_SUCCESS);
        surrogate_ordering_destroy(&order);
        return status;
    });
}

TEST_F(FaultsMemory, InAMoveLeavesTheDomainAsItWas) {
    const DarcyCase few(own_rows("contiguous", 6, comm)), many(own_rows("scattered", 90, comm));
    const surrogate_points from = few.points(), to = many.points();
    fail_at_each_allocation([&] {
        surrogate_domain* domain = nullptr;
        surrogate_status status = surrogate_domain_create_points(context.get(), &from, &domain);
        if (status != SURROGATE_SUCCESS) return status;
        status = surrogate_domain_update_points(domain, &to);
        int64_t n = -1, n_global = -1;
        EXPECT_EQ(surrogate_domain_n_points(domain, &n, &n_global), SURROGATE_SUCCESS);
        EXPECT_EQ(n, status == SURROGATE_SUCCESS ? many.n() : few.n());
        EXPECT_EQ(n_global, status == SURROGATE_SUCCESS ? 90 : 6);
        surrogate_domain_destroy(&domain);
        return status;
    });
}

/// A run that finds no memory to follow its points fails on all ranks, and the next one follows.
TEST_F(FaultsMemory, ToFollowPointsIsToldToAllRanks) {
    const std::string path = small_darcy_model();
    const Model model(context, path);
    const DarcyCase few(own_rows("contiguous", 6, comm));
    DarcyCase many(own_rows("scattered", 200, comm));
    for (const char* reproducible : {"false", "true"}) {
        const Options options{{"reproducible", reproducible}, {"threads", "2"}};
        const std::vector<double> expected = predict(model, context, many, options);
        for (int culprit = 0; culprit < context.size(); ++culprit) {
            int has_failed = 1;
            int64_t n = 0;
            while (has_failed) {
                Domain domain = few.domain(context);
                Plan plan(model, domain, options);
                domain.update_points(many.points());
                many.bind(plan);
                if (context.rank() == culprit) fail_allocation(++n);
                const surrogate_status status = surrogate_plan_run(plan.get());
                has_failed = context.rank() == culprit ? end_failing_allocation() : 0;
                MPI_Bcast(&has_failed, 1, MPI_INT, culprit, comm);
                const Answer found = answer(status);
                EXPECT_EQ(found, answer_of_rank_0(found, comm));
                EXPECT_EQ(found.status, has_failed ? SURROGATE_NO_MEMORY : SURROGATE_SUCCESS)
                    << found << ", allocation " << n << " of rank " << culprit;
                if (has_failed) plan.run();
                EXPECT_EQ(many.pressure, expected);
                many.pressure.assign(many.ids.size(), -1);
            }
            EXPECT_TRUE(context.rank() != culprit || n > 1);
        }
    }
}

}  // namespace
}  // namespace surrogate::test
