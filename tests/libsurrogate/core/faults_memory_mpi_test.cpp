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
        surrogate_order* order = nullptr;
        const surrogate_status status = surrogate_order_create(domain.get(), 16, &order);
        EXPECT_EQ(order == nullptr, status != SURROGATE_SUCCESS);
        surrogate_order_destroy(&order);
        return status;
    });
}

}  // namespace
}  // namespace surrogate::test
