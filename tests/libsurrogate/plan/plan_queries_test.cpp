// SPDX-License-Identifier: Apache-2.0
// Checks the queries of a plan, for a wrapper that holds only the plan.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>

#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"

namespace surrogate::test {
namespace {

class PlanQueries : public testing::Test {
protected:
    DarcyCase points{first_rows(30)};
    Context context;
    Model model{context, darcy_model};
    Domain domain = points.domain(context);
    std::optional<Plan> plan{Plan(model, domain)};
};

TEST_F(PlanQueries, GiveWhatThePlanWasMadeFrom) {
    EXPECT_EQ(plan->model().family(), "flare");
    EXPECT_EQ(plan->model().inputs().size(), 3u);
    // The same objects: names lie at the same place.
    EXPECT_EQ(plan->model().inputs()[2].name, model.inputs()[2].name);
    EXPECT_EQ(plan->input_domain().points().x.data, domain.points().x.data);
    EXPECT_EQ(plan->output_domain().n_local(), 30);
    EXPECT_EQ(plan->context().size(), 1);
}

TEST_F(PlanQueries, GiveTheDomainOfEachSide) {
    const Model layer(context, SURROGATE_TEST_DATA "/sphere/operators/resample_0.safetensors");
    const auto grid = [&](const surrogate_domain_info& info) {
        surrogate_sphere sphere{};
        sphere.grid = info.grid;
        sphere.n_lat = sphere.n_lat_local = info.n_lat;
        sphere.n_lon = sphere.n_lon_local = info.n_lon;
        return Domain(context, sphere);
    };
    const Domain in = grid(layer.input_domain()), out = grid(layer.output_domain());
    ASSERT_NE(in.n_local(), out.n_local());
    const Plan between(layer, in, out);
    EXPECT_EQ(between.input_domain().n_local(), in.n_local());
    EXPECT_EQ(between.output_domain().n_local(), out.n_local());
}

TEST_F(PlanQueries, HandlesOutliveThePlanAndServeAnotherOne) {
    const Context its_context = plan->context();
    const Model its_model = plan->model();
    const Domain its_domain = plan->input_domain();
    plan.reset();
    Plan again(its_model, its_domain);
    points.bind(again);
    again.run();
    EXPECT_EQ(points.pressure, predict(model, context, points));
}

TEST_F(PlanQueries, ErrorsOfAContextAreThoseOfItsHandles) {
    const Context its_context = plan->context();
    surrogate_context_fail(context.get(), SURROGATE_IO, "told to one");
    EXPECT_STREQ(surrogate_error(its_context.get()), "told to one");
}

TEST_F(PlanQueries, TextsAreCopiedWholeOrTruncated) {
    char text[8] = "xxxxxxx";
    int64_t n = 0;
    EXPECT_EQ(surrogate_plan_option(plan->get(), "reproducible", nullptr, &n), SURROGATE_SUCCESS);
    EXPECT_EQ(n, 6);
    EXPECT_EQ(surrogate_plan_option(plan->get(), "reproducible", text, &n), SURROGATE_SUCCESS);
    EXPECT_STREQ(text, "false");
    n = 3;
    const Answer small = answer(surrogate_model_family(model.get(), text, &n));
    EXPECT_EQ(small.status, SURROGATE_SHAPE);
    EXPECT_TRUE(small.says("6 bytes")) << small;
    EXPECT_EQ(n, 6);
    EXPECT_STREQ(text, "fl");
}

}  // namespace
}  // namespace surrogate::test
