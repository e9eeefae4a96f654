// SPDX-License-Identifier: Apache-2.0
// Derivatives of predictions along a direction: J v beside J^T w, ranks, invalid input.
#include <gtest/gtest.h>

#include "tests/libsurrogate/plan/derived.hpp"
#include "tests/support/memory_meter.hpp"

namespace surrogate::test {
namespace {

const Problem& problem_of(const std::string& name) {
    return *std::ranges::find(problems(), name, &Problem::name);
}

/// Models with fields or numbers per cloud, whose predictions do not jump.
class Tangents : public testing::TestWithParam<const char*> {
protected:
    const Problem& problem = problem_of(GetParam());
    const Context self, context = mpi_context(world);
};

/// <w, J v> = <J^T w, v>: both in double, both in single, and J^T w in single beside J v in double.
TEST_P(Tangents, AgreeWithGradients) {
    Derived precise(context, problem, in_double), single(context, problem, in_single);
    for (Derived* const own : {&precise, &single}) {
        own->bind_tangents();
        own->differentiate();
    }
    const double expected = precise.against(), along = precise.along();
    EXPECT_GT(std::abs(expected), 1e-6);
    EXPECT_NEAR(along, expected, 1e-7 * std::abs(expected));
    EXPECT_NEAR(single.against(), along, 1e-5 * std::abs(expected));
    // The weights by formula of Sequoia let predictions bend within a step of single precision.
    const double tolerance = problem.name == "SequoiaGiven" ? 3e-2 : 5e-5;
    EXPECT_NEAR(single.along(), expected, tolerance * std::abs(expected));
}

TEST_P(Tangents, HaveTheBitsOfOneRank) {
    for (const Options* const options : {&in_single, &in_double}) {
        Derived one(self, problem, *options), own(context, problem, *options);
        for (Derived* const run : {&one, &own}) {
            run->bind_tangents();
            run->plan().run_tangent();
        }
        std::map<int64_t, size_t> place;
        for (size_t i = 0; i < one.rows.size(); ++i) place[one.rows[i]] = i;
        for (const auto& [name, values] : own.jv) {
            for (size_t i = 0; i < values.size(); ++i)
                ASSERT_EQ(values[i], one.jv[name][place[own.rows[i]]]) << name << " " << i;
        }
    }
}

/// Twice the direction has half the step.
TEST_P(Tangents, AreLinear) {
    Derived own(context, problem, in_single);
    own.bind_tangents();
    own.plan().run_tangent();
    const Fields first = own.jv;
    for (auto& [name, values] : own.v)
        for (double& value : values) value *= 2;
    own.plan().run_tangent();
    for (const auto& [name, values] : own.jv)
        for (size_t i = 0; i < values.size(); ++i)
            ASSERT_EQ(values[i], 2 * first.at(name)[i]) << name;
    for (auto& [name, values] : own.v) std::ranges::fill(values, 0);
    own.plan().run_tangent();
    for (const auto& [name, values] : own.jv)
        for (const double value : values) ASSERT_EQ(value, 0) << name;
}

TEST_P(Tangents, TakeMemoryOnce) {
    Derived own(context, problem, in_single);
    own.bind_tangents();
    own.plan().run_tangent();
    const MemoryMeter meter;
    own.plan().run_tangent();
    EXPECT_EQ(meter.n_allocation(), 0);
}

/// Predictions and gradients of the plan do not depend on them.
TEST_P(Tangents, LeaveRunsAsTheyAre) {
    Derived own(context, problem, in_single);
    own.differentiate();
    const Fields outputs = own.outputs, g = own.g;
    own.bind_tangents();
    own.plan().run();
    own.plan().run_tangent();
    own.plan().run_backward();
    EXPECT_EQ(own.outputs, outputs);
    EXPECT_EQ(own.g, g);
}

INSTANTIATE_TEST_SUITE_P(, Tangents,
                         testing::Values("Flare", "SphereTransformer", "SphereSegformer",
                                         "SequoiaGiven", "Erwin"),
                         [](const auto& name) { return std::string(name.param); });

class TangentErrors : public testing::Test {
protected:
    void expect(const std::function<void()>& work, surrogate_status status,
                const std::string& text) const {
        Answer found;
        try {
            work();
        } catch (const Error& error) {
            found = {error.status(), error.what()};
        }
        EXPECT_EQ(found.status, status) << found;
        EXPECT_TRUE(found.says(text)) << found;
    }

    const Context context = mpi_context(world);
};

TEST_F(TangentErrors, NeedTheOptionAndASmoothNetwork) {
    Derived flare(context, problem_of("Flare"), in_single);
    const Model model(context, small_darcy_model());
    Plan plan(model, flare.plan().input_domain(), Options{{"gradients", "true"}});
    const surrogate_array all = column(flare.w["pressure"].data(), std::ssize(flare.rows));
    const std::string text = "option 'gradients' is true, expected inputs";
    expect([&] { plan.bind_input_tangent("mobility", all); }, SURROGATE_INVALID_ARGUMENT, text);
    expect([&] { plan.run_tangent(); }, SURROGATE_INVALID_ARGUMENT, text);
    for (const char* const name : {"Hept", "BsaGiven"}) {
        Derived own(context, problem_of(name), in_single);
        expect([&] { own.bind_tangents(); }, SURROGATE_NOT_SUPPORTED, "chooses by its inputs");
        expect([&] { own.plan().run_tangent(); }, SURROGATE_NOT_SUPPORTED,
               "surrogate_plan_run_backward");
    }
}

TEST_F(TangentErrors, NameWhatDoesNotFit) {
    Derived own(context, problem_of("Flare"), in_single);
    Plan& plan = own.plan();
    std::vector<double> some(own.rows.size()), more(own.rows.size() + 1);
    const surrogate_array all = column(some.data(), std::ssize(some));
    const surrogate_array longer = column(more.data(), std::ssize(more));
    expect([&] { plan.bind_input_tangent("x", all); }, SURROGATE_NOT_SUPPORTED,
           "input 'x' is a coordinate");
    expect([&] { plan.bind_input_tangent("mobilty", all); }, SURROGATE_UNKNOWN_NAME, "mobility");
    expect([&] { plan.bind_input_tangent("mobility", all, "m"); }, SURROGATE_INVALID_ARGUMENT,
           "'m^2/(Pa s)'");
    expect([&] { plan.bind_output_tangent("pressure", longer); }, SURROGATE_SHAPE, "shape");
    surrogate_plan_unbind(plan.get());
    expect([&] { plan.run_tangent(); }, SURROGATE_INVALID_ARGUMENT,
           "input 'mobility' is not bound");
}

/// A rank with a direction that is not finite says where; the others learn of it, and the next
/// one is right.
TEST_F(TangentErrors, OfOneRankReachAll) {
    Derived own(context, problem_of("Flare"), in_single);
    own.bind_tangents();
    own.plan().run_tangent();
    const Fields expected = own.jv;
    const int last = size_of(world) - 1;
    if (rank_of(world) == last) own.v["mobility"][1] = NAN;
    expect([&] { own.plan().run_tangent(); }, SURROGATE_NOT_FINITE,
           rank_of(world) == last ? "tangent of input 'mobility' is not finite at"
                                  : "from another rank");
    for (const double value : own.jv["pressure"]) EXPECT_TRUE(std::isnan(value));
    if (rank_of(world) == last) own.v["mobility"][1] = direction("mobility", own.rows[1]);
    own.plan().run_tangent();
    EXPECT_EQ(own.jv, expected);
}

}  // namespace
}  // namespace surrogate::test
