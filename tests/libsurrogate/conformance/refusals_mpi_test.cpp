// SPDX-License-Identifier: Apache-2.0
// A property of every family: unsupported calls return the same error and remedy on all ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/libsurrogate/conformance/family_run.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// The answer to making a plan: the same on all ranks.
Answer plan_of(const Model& model, surrogate_domain* input, surrogate_domain* output,
               const Options& options) {
    surrogate_plan* plan = nullptr;
    const Answer found =
        answer(surrogate_plan_create(model.get(), input, output, options.get(), &plan));
    EXPECT_EQ(plan == nullptr, found.status != SURROGATE_SUCCESS);
    surrogate_plan_destroy(&plan);
    EXPECT_EQ(found, answer_of_rank_0(found, world));
    EXPECT_TRUE(ranks_still_talk(world));
    return found;
}

// ---- what a family says of itself ----

struct RefusedOfFamily {
    const FamilyCase* family;
    const RefusedPlan* plan;
};

std::ostream& operator<<(std::ostream& stream, const RefusedOfFamily& refused) {
    return stream << refused.family->name << " " << refused.plan->name;
}

std::vector<RefusedOfFamily> all_refused() {
    std::vector<RefusedOfFamily> list;
    for (const FamilyCase* family : family_cases())
        for (const RefusedPlan& plan : family->refused_plans) list.push_back({family, &plan});
    return list;
}

class Refused : public testing::TestWithParam<RefusedOfFamily> {};

TEST_P(Refused, PlanIsToldToAllRanks) {
    const auto& [family, refused] = GetParam();
    const auto network = std::ranges::find(family->networks, refused->network, &NetworkCase::name);
    ASSERT_NE(network, family->networks.end()) << refused->network;
    const auto file = network->file();
    const Context context = mpi_context(world);
    const Model model(context, *file);
    surrogate_domain *input = nullptr, *output = nullptr;
    check(refused->domains(context.get(), &input, &output));
    const Domain in(input), out(output);
    const Answer found = plan_of(model, input, output, options_of(refused->options));
    EXPECT_EQ(found.status, refused->status) << found;
    EXPECT_TRUE(found.says(refused->says)) << found;
}

INSTANTIATE_TEST_SUITE_P(Families, Refused, testing::ValuesIn(all_refused()),
                         [](const auto& refused) {
                             return refused.param.family->name + refused.param.plan->name;
                         });

// ---- plans that all families reject ----

class Refusals : public testing::TestWithParam<Tested> {
protected:
    Answer plan_with(const Options& options) {
        return plan_of(model, domains.input.get(), domains.output(), options);
    }
    Answer bind(FamilyRun& run, const std::string& name, const surrogate_array& array,
                const char* unit = nullptr) {
        return answer(surrogate_plan_bind_input(run.plan.get(), name.c_str(), unit, &array));
    }

    const std::shared_ptr<const std::string> file = GetParam().network->file();
    const Context context = mpi_context(world);
    const Model model{context, *file};
    const FamilyDomains domains{context, model, GetParam(), "contiguous"};
};

TEST_P(Refusals, OfDoublePrecisionOnVectorsNameTheBackend) {
    const Answer found = plan_with({{"precision", "fp64"}, {"backend", "simd"}});
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
    EXPECT_TRUE(found.says("ref")) << found;
}

TEST_P(Refusals, OfPrecisionsThatTheHostLacksNameThem) {
    for (const char* precision : {"tf32", "fp16", "bf16"}) {
        const Answer found = plan_with({{"precision", precision}});
        EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
        EXPECT_TRUE(found.says(precision)) << found;
    }
}

TEST_P(Refusals, OfADomainOfAnotherContextSaySo) {
    const Context other = mpi_context(world);
    const Model stranger(other, *file);
    const Answer found = plan_of(stranger, domains.input.get(), domains.output(), {});
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
    EXPECT_TRUE(found.says("different contexts")) << found;
}

TEST_P(Refusals, OfOptionsThatRanksDoNotShareNameThem) {
    if (context.size() == 1) GTEST_SKIP() << "one rank agrees with itself";
    for (const char* key : {"agree", "reproducible"}) {
        const Answer found = plan_with({{key, context.rank() == 0 ? "true" : "false"}});
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
        EXPECT_TRUE(found.says(key) && found.says("different values")) << found;
    }
}

TEST_P(Refusals, OfArraysThatDoNotFitNameThePort) {
    FamilyRun run(context, model, GetParam(), "contiguous", {});
    const auto out = run.arrays(true);
    for (const int axis : {0, 1}) {
        auto in = run.arrays(false);
        in.front().array.shape[axis] += 1;
        const Answer found = answer(
            surrogate_plan_run_network(run.plan.get(), static_cast<int32_t>(in.size()), in.data(),
                                       static_cast<int32_t>(out.size()), out.data()));
        EXPECT_EQ(found.status, SURROGATE_SHAPE) << found;
        EXPECT_TRUE(found.says(std::string("'") + in.front().name + "'")) << found;
    }
}

TEST_P(Refusals, OfAStreamNameTheBackendThatHasOne) {
    FamilyRun run(context, model, GetParam(), "contiguous", {});
    const Answer found = answer(surrogate_plan_set_stream(run.plan.get(), nullptr));
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
    EXPECT_TRUE(found.says("backend=cuda")) << found;
}

TEST_P(Refusals, OfFieldsLeaveTheEarlierOnesBound) {
    FamilyRun run(context, model, GetParam(), "contiguous", {});
    EXPECT_EQ(bind(run, "no such field", {}).status, SURROGATE_UNKNOWN_NAME);
    if (!run.has_fields()) {
        const Answer found = answer(run.run());
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
        EXPECT_TRUE(found.says("names no input or output fields")) << found;
        return;
    }
    const std::string field = run.inputs.back();
    surrogate_array array = run.input_fields.channel(0);
    EXPECT_TRUE(bind(run, field, array, "parsec").says("'parsec'"));
    array.shape[0] += 1;
    EXPECT_EQ(bind(run, field, array).status, SURROGATE_SHAPE);
    array.shape[0] -= 1;
    array.dtype = SURROGATE_INT32;
    EXPECT_EQ(bind(run, field, array).status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(run.run(), SURROGATE_SUCCESS);
    surrogate_plan_unbind(run.plan.get());
    const Answer found = answer(run.run());
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
    EXPECT_TRUE(found.says("'" + run.inputs.front() + "' is not bound")) << found;
}

INSTANTIATE_TEST_SUITE_P(Families, Refusals, testing::ValuesIn(tested_networks(is_small)),
                         name_of_tested);

}  // namespace
}  // namespace surrogate::test
