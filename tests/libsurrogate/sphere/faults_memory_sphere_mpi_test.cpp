// SPDX-License-Identifier: Apache-2.0
// One rank runs out of memory while models, domains and plans of the sphere are made.
#include <gtest/gtest.h>

#include <string>

#include "tests/libsurrogate/conformance/faults_memory.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

using FaultsMemorySphere = FaultsMemory;

/// The first allocations one by one, then ever fewer: every point costs the planning of a network.
int64_t wide_stride(int64_t n) {
    return n + 1 + n / 12;
}

TEST_F(FaultsMemorySphere, InModelIsToldToAllRanks) {
    const ModelOnDisk file(changed(small_segformer(), {{"depths", {1, 0}}}), 3, 2);
    fail_at_each_allocation(
        [&] {
            surrogate_model* model = nullptr;
            const surrogate_status status =
                surrogate_model_load(context.get(), file.path().c_str(), &model);
            EXPECT_EQ(model == nullptr, status != SURROGATE_SUCCESS);
            surrogate_model_destroy(&model);
            return status;
        },
        wide_stride);
}

TEST_F(FaultsMemorySphere, InDomainIsToldToAllRanks) {
    const surrogate_domain_info grid{SURROGATE_SPHERE, "legendre-gauss", 12, 24};
    const SphereBlock block(grid, {.name = "", .partition = "scattered", .with_nodes = true},
                            context.rank(), context.size());
    const surrogate_sphere sphere = block.sphere();
    fail_at_each_allocation([&] {
        surrogate_domain* domain = nullptr;
        const surrogate_status status =
            surrogate_domain_create_sphere(context.get(), &sphere, &domain);
        EXPECT_EQ(domain == nullptr, status != SURROGATE_SUCCESS);
        surrogate_domain_destroy(&domain);
        return status;
    });
}

struct Case {
    std::string name;
    json network;
    std::string reproducible = "false", precision = "fp32";
};

std::ostream& operator<<(std::ostream& stream, const Case& c) {
    return stream << c.name;
}

class FaultsMemorySpherePlan : public FaultsMemory, public testing::WithParamInterface<Case> {};

TEST_P(FaultsMemorySpherePlan, IsToldToAllRanks) {
    const ModelOnDisk file(GetParam().network);
    const Model model(context, file.path());
    const SphereLayout layout{.name = "", .partition = "scattered"};
    SphereRun made(context, model, layout);  // for its domains
    const Options options{{"threads", "1"},
                          {"reproducible", GetParam().reproducible},
                          {"precision", GetParam().precision}};
    // Each rank trims two lists of each of at most six convolutions.
    most_done_without = 12 * context.size();
    fail_at_each_allocation(
        [&] {
            surrogate_plan* plan = nullptr;
            const surrogate_status status = surrogate_plan_create(
                model.get(), made.input.get(), made.output.get(), options.get(), &plan);
            EXPECT_EQ(plan == nullptr, status != SURROGATE_SUCCESS);
            surrogate_plan_destroy(&plan);
            return status;
        },
        wide_stride);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, FaultsMemorySpherePlan,
    testing::Values(
        Case{"Transformer", small_transformer()},
        Case{"TransformerReproducible", changed(small_transformer(), {{"pos_embed", "sequence"}}),
             "true"},
        Case{"TransformerHarmonicGlobal",
             changed(small_transformer(), {{"upsample_sht", true}, {"attention_mode", "global"}})},
        Case{"SegformerTransposedDouble",
             changed(small_segformer(), {{"upsampling_method", "conv"}}), "false", "fp64"},
        Case{"Segformer", small_segformer(), "true"}, Case{"Attention", small_attention()},
        Case{"AttentionBetweenGrids", changed(small_attention(), {{"out_shape", {6, 12}}})},
        Case{"Convolution", small_convolution()}, Case{"Resampling", small_resampling()}),
    [](const auto& plan) { return plan.param.name; });

TEST_F(FaultsMemorySphere, WhileARunComplainsStillLetsTheOthersGoOn) {
    const ModelOnDisk file(small_transformer(), 3, 3);
    const Model model(context, file.path());
    SphereRun run(context, model, {.name = ""});
    run.fill(wave_inputs(model));
    run.bind();
    for (int culprit = 0; culprit < size_of(comm); ++culprit) {
        const bool is_culprit = rank_of(comm) == culprit;
        if (is_culprit) {
            surrogate_plan_unbind(run.plan.get());
            fail_allocation(1);
        }
        const surrogate_status status = run.run();
        if (is_culprit) {
            EXPECT_TRUE(end_failing_allocation());
        }
        EXPECT_EQ(status, is_culprit ? SURROGATE_NO_MEMORY : SURROGATE_NOT_FINITE);
        run.bind();
        EXPECT_EQ(run.run(), SURROGATE_SUCCESS);
    }
}

}  // namespace
}  // namespace surrogate::test
