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
                                     {"precision", "tf32"},
                                     {"precision", "fp16"},
                                     {"precision", "bf16"},
                                     {"device", "auto"},
                                     {"device", "0"},
                                     {"timeout_s", "0"},
                                     {"timeout_s", "86400"},
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
    const Answer refused = set("precision", "fp8");
    EXPECT_EQ(refused.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(refused.says("'fp8'") && refused.says("fp32, fp64, tf32, fp16, bf16")) << refused;
    for (const char* threads : {"0", "-1", "1.5", "4097", "99999999999", "", " 2", "two"})
        EXPECT_EQ(set("threads", threads).status, SURROGATE_INVALID_ARGUMENT) << threads;
    for (const auto& [key, value] :
         {std::pair("device", "-1"), {"device", "1024"}, {"device", "gpu"}, {"timeout_s", "0.5"}})
        EXPECT_EQ(set(key, value).status, SURROGATE_INVALID_ARGUMENT) << key << "=" << value;
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
    const Answer simd = context_with({{"backend", "simd"}, {"precision", "fp64"}});
    EXPECT_EQ(simd.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(simd.says("'ref' only")) << simd;
    for (const char* precision : {"tf32", "fp16", "bf16"}) {
        const Answer host = context_with({{"precision", precision}});
        EXPECT_EQ(host.status, SURROGATE_NOT_SUPPORTED);
        EXPECT_TRUE(host.says("'cuda' only") && host.says(precision)) << host;
    }
}

}  // namespace
}  // namespace surrogate::test
