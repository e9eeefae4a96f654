// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <surrogate/surrogate.hpp>

#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"

namespace surrogate::test {
namespace {

Answer set(const char* key, const char* value) {
    Options options;
    return answer(surrogate_options_set(options.get(), key, value));
}

TEST(Options, TakeEveryValueOfTheTable) {
    for (const auto& [key, value] : {std::pair("threads", "1"),
                                     {"threads", "4096"},
                                     {"threads", "auto"},
                                     {"vector", "avx512"},
                                     {"vector", "scalar"},
                                     {"backend", "cuda"},
                                     {"precision", "fp64"},
                                     {"reproducible", "true"},
                                     {"check_finite", "false"}}) {
        EXPECT_EQ(set(key, value).status, SURROGATE_SUCCESS) << key << "=" << value;
    }
}

TEST(Options, UnknownKeyIsRefusedWithTheNearMissAndTheList) {
    const Answer refused = set("reproducable", "true");
    EXPECT_EQ(refused.status, SURROGATE_UNKNOWN_NAME);
    EXPECT_TRUE(refused.says("did you mean 'reproducible'") && refused.says("check_finite"))
        << refused;
}

TEST(Options, ValueThatIsNotAllowedListsThoseThatAre) {
    const Answer refused = set("precision", "bf16");
    EXPECT_EQ(refused.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(refused.says("'bf16'") && refused.says("fp32, fp64")) << refused;
    for (const char* threads : {"0", "-1", "1.5", "4097", "99999999999", "", " 2", "two"})
        EXPECT_EQ(set("threads", threads).status, SURROGATE_INVALID_ARGUMENT) << threads;
}

TEST(Options, OfAPlanOverrideThoseOfItsContext) {
    const Context context{{{"threads", "2"}, {"backend", "ref"}}};
    const Model model(context, darcy_model);
    const Domain domain = DarcyCase(first_rows(3)).domain(context);
    const Plan plan(model, domain, {{"threads", "1"}, {"vector", "scalar"}});
    EXPECT_EQ(plan.option("threads"), "1");
    EXPECT_EQ(plan.option("backend"), "ref");
    EXPECT_EQ(plan.option("vector"), "scalar");
    EXPECT_EQ(plan.option("reproducible"), "false");
}

TEST(Options, AutoIsResolvedInThePlan) {
    const Context context;
    const Model model(context, darcy_model);
    const Plan plan(model, DarcyCase(first_rows(3)).domain(context));
    EXPECT_EQ(plan.option("backend"), "simd");
    EXPECT_NE(plan.option("vector"), "auto");
    EXPECT_GE(std::stoi(plan.option("threads")), 1);
}

TEST(Options, WhatIsNotBuiltIsRefusedByName) {
    const auto context_with = [](const Options& options) {
        surrogate_context* context = nullptr;
        const Answer refused = answer(surrogate_context_create(options.get(), &context));
        EXPECT_EQ(context, nullptr);
        return refused;
    };
    const Answer cuda = context_with({{"backend", "cuda"}});
    EXPECT_EQ(cuda.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(cuda.says("'cuda'")) << cuda;
    const Answer simd = context_with({{"backend", "simd"}, {"precision", "fp64"}});
    EXPECT_EQ(simd.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(simd.says("'ref' only")) << simd;
}

}  // namespace
}  // namespace surrogate::test
