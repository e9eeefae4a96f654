// SPDX-License-Identifier: Apache-2.0
// Binds fields to a plan, and checks errors of invalid fields.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"

namespace surrogate::test {
namespace {

class PlanBind : public testing::Test {
protected:
    Answer bind_input(const char* name, const surrogate_array& array, const char* unit = nullptr) {
        return answer(surrogate_plan_bind_input(plan.get(), name, unit, &array));
    }
    Answer bind_output(const char* name, const surrogate_array& array, const char* unit = nullptr) {
        return answer(surrogate_plan_bind_output(plan.get(), name, unit, &array));
    }
    Answer run() { return answer(surrogate_plan_run(plan.get())); }
    surrogate_array any() { return column(points.mobility.data(), points.n()); }

    Context context;
    Model model{context, darcy_model};
    DarcyCase points{first_rows(75)};
    Domain domain = points.domain(context);
    Plan plan{model, domain};
    std::vector<double> expected = predict(model, context, points);
};

TEST_F(PlanBind, FloatArraysGiveTheSamePredictionsAsDouble) {
    const std::vector<float> mobility(points.mobility.begin(), points.mobility.end());
    std::vector<float> pressure(mobility.size());
    plan.bind_input("mobility", column(mobility.data(), points.n()));
    plan.bind_output("pressure", column(pressure.data(), points.n()));
    plan.run();
    for (size_t i = 0; i < pressure.size(); ++i)
        EXPECT_EQ(pressure[i], static_cast<float>(expected[i])) << "point " << i;
}

TEST_F(PlanBind, OneColumnOfAnInterlacedArrayIsReadAndAnotherWritten) {
    std::vector<double> state(3 * points.mobility.size(),
                              77.0);  // (n, 3): spare, mobility, pressure
    for (size_t i = 0; i < points.mobility.size(); ++i) state[3 * i + 1] = points.mobility[i];
    plan.bind_input("mobility", column(state.data() + 1, points.n(), 3));
    plan.bind_output("pressure", column(state.data() + 2, points.n(), 3));
    plan.run();
    for (size_t i = 0; i < points.mobility.size(); ++i) {
        EXPECT_EQ(state[3 * i], 77.0);
        EXPECT_EQ(state[3 * i + 1], points.mobility[i]);
        EXPECT_EQ(state[3 * i + 2], expected[i]);
    }
}

TEST_F(PlanBind, NegativeStridesReadAndWriteBackwards) {
    const std::vector<double> reversed(points.mobility.rbegin(), points.mobility.rend());
    std::vector<double> pressure(reversed.size());
    plan.bind_input("mobility", column(&reversed.back(), points.n(), -1));
    plan.bind_output("pressure", column(&pressure.back(), points.n(), -1));
    plan.run();
    EXPECT_EQ(std::vector<double>(pressure.rbegin(), pressure.rend()), expected);
}

TEST_F(PlanBind, OutputMayBeTheInputArray) {
    plan.bind_input("mobility", any());
    plan.bind_output("pressure", any());
    plan.run();
    EXPECT_EQ(points.mobility, expected);
}

TEST_F(PlanBind, BindingAgainReplacesTheArray) {
    std::vector<double> unused(points.mobility.size(), NAN);
    plan.bind_input("mobility", column(unused.data(), points.n()));
    points.bind(plan);
    plan.run();
    EXPECT_EQ(points.pressure, expected);
}

TEST_F(PlanBind, UnknownFieldIsRefusedWithTheNearMissAndTheList) {
    const Answer refused = bind_input("mobilty", any());
    EXPECT_EQ(refused.status, SURROGATE_UNKNOWN_NAME);
    EXPECT_TRUE(refused.says("'mobilty'") && refused.says("did you mean 'mobility'")) << refused;
    const Answer swapped = bind_output("mobility", any());
    EXPECT_EQ(swapped.status, SURROGATE_UNKNOWN_NAME);
    EXPECT_TRUE(swapped.says("outputs: pressure")) << swapped;
}

TEST_F(PlanBind, CoordinateCannotBeBoundByHand) {
    const Answer refused = bind_input("x", any());
    EXPECT_EQ(refused.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(refused.says("'x'") && refused.says("comes from the domain")) << refused;
}

TEST_F(PlanBind, WrongUnitNamesBothUnits) {
    const Answer refused = bind_output("pressure", any(), "bar");
    EXPECT_EQ(refused.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(refused.says("'Pa'") && refused.says("'bar'")) << refused;
}

TEST_F(PlanBind, WrongLengthNamesBothShapes) {
    const Answer refused = bind_input("mobility", column(points.mobility.data(), 74));
    EXPECT_EQ(refused.status, SURROGATE_SHAPE);
    EXPECT_TRUE(refused.says("(74, 1)") && refused.says("(75, 1)")) << refused;
}

TEST_F(PlanBind, TransposedArrayIsRecognised) {
    const Answer refused = bind_input("mobility", matrix(points.mobility.data(), 1, 75));
    EXPECT_EQ(refused.status, SURROGATE_SHAPE);
    EXPECT_TRUE(refused.says("transposed")) << refused;
}

TEST_F(PlanBind, ArraysThatCannotBeReadAreRefused) {
    surrogate_array array = any();
    array.data = nullptr;
    EXPECT_EQ(bind_input("mobility", array).status, SURROGATE_INVALID_ARGUMENT);
    array = any();
    array.dtype = SURROGATE_INT32;
    EXPECT_EQ(bind_input("mobility", array).status, SURROGATE_INVALID_ARGUMENT);
    array = any();
    array.space = SURROGATE_CUDA;
    EXPECT_EQ(bind_input("mobility", array).status, SURROGATE_NOT_SUPPORTED);
    array = any();
    array.shape[0] = -75;
    EXPECT_EQ(bind_input("mobility", array).status, SURROGATE_SHAPE);
}

TEST_F(PlanBind, InputMayBeOneNumberForAllPoints) {
    std::ranges::fill(points.mobility, 5.0);
    const std::vector<double> same = predict(model, context, points);
    const double five = 5.0;
    points.bind(plan);
    ASSERT_EQ(bind_input("mobility", column(&five, points.n(), 0)).status, SURROGATE_SUCCESS);
    plan.run();
    EXPECT_EQ(points.pressure, same);
}

TEST_F(PlanBind, OutputsWhoseElementsShareMemoryAreRefused) {
    double one = 0;
    const Answer refused = bind_output("pressure", column(&one, points.n(), 0));
    EXPECT_EQ(refused.status, SURROGATE_SHAPE);
    EXPECT_TRUE(refused.says("output 'pressure'") && refused.says("share memory")) << refused;

    std::vector<double> x(3 * points.mobility.size());
    const surrogate_named_array in = {"x", matrix(x.data(), points.n(), 3)};
    const surrogate_named_array out = {"y", column(&one, points.n(), 0)};
    const Answer ports = answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
    EXPECT_EQ(ports.status, SURROGATE_SHAPE);
    EXPECT_TRUE(ports.says("network output 'y'") && ports.says("share memory")) << ports;
}

TEST_F(PlanBind, StridesThatLeaveTheAddressSpaceAreRefused) {
    for (const int64_t stride : {INT64_MIN, INT64_MAX, int64_t{1} << 60, -(int64_t{1} << 54)}) {
        const surrogate_array array = column(points.mobility.data(), points.n(), stride);
        for (const Answer& refused :
             {bind_input("mobility", array), bind_output("pressure", array)}) {
            EXPECT_EQ(refused.status, SURROGATE_SHAPE) << stride;
            EXPECT_TRUE(refused.says("leads out of the address space")) << refused;
        }
    }
    surrogate_array wide = any();
    wide.shape[0] = INT64_MAX;
    EXPECT_EQ(bind_input("mobility", wide).status, SURROGATE_LIMIT);
    surrogate_array one_component = any();
    one_component.stride[1] = INT64_MAX;  // of one component: counts for nothing
    EXPECT_EQ(bind_input("mobility", one_component).status, SURROGATE_SUCCESS);
}

TEST_F(PlanBind, RunNamesTheFieldThatIsNotBound) {
    EXPECT_TRUE(run().says("input 'mobility' is not bound")) << run();
    bind_input("mobility", any());
    const Answer refused = run();
    EXPECT_EQ(refused.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(refused.says("output 'pressure' is not bound")) << refused;
}

TEST_F(PlanBind, UnbindForgetsArraysAndKeepsCoordinates) {
    points.bind(plan);
    EXPECT_EQ(surrogate_plan_unbind(plan.get()), SURROGATE_SUCCESS);
    EXPECT_TRUE(run().says("input 'mobility' is not bound")) << run();
    points.bind(plan);
    EXPECT_EQ(run().status, SURROGATE_SUCCESS);
    EXPECT_EQ(points.pressure, expected);
}

TEST_F(PlanBind, RefusedBindingLeavesTheEarlierOne) {
    points.bind(plan);
    bind_input("mobility", column(points.mobility.data(), 3));
    EXPECT_EQ(run().status, SURROGATE_SUCCESS);
    EXPECT_EQ(points.pressure, expected);
}

Answer plan_of(const Model& model, const Domain& on) {
    surrogate_plan* handle = nullptr;
    const Answer result =
        answer(surrogate_plan_create(model.get(), on.get(), nullptr, nullptr, &handle));
    EXPECT_EQ(handle == nullptr, result.status != SURROGATE_SUCCESS);
    surrogate_plan_destroy(&handle);
    return result;
}

TEST_F(PlanBind, DomainOfAnotherContextIsRefused) {
    const Context other;
    const Answer refused = plan_of(model, points.domain(other));
    EXPECT_EQ(refused.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(refused.says("different contexts")) << refused;
}

TEST_F(PlanBind, DomainWithTooFewCoordinatesIsRefused) {
    const Answer refused = plan_of(model, Domain(context, matrix(points.x.data(), 10, 1)));
    EXPECT_EQ(refused.status, SURROGATE_SHAPE);
    EXPECT_TRUE(refused.says("'y'") && refused.says("1 coordinates")) << refused;
}

TEST_F(PlanBind, PointsWithoutCoordinatesServeTheBareNetworkOnly) {
    const Domain bare(context, matrix(points.x.data(), points.n(), 0));
    Plan network(model, bare);
    points.bind(network);
    const Answer refused = answer(surrogate_plan_run(network.get()));
    EXPECT_EQ(refused.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(refused.says("'x' is a coordinate")) << refused;
}

TEST_F(PlanBind, RunNetworkNamesWhatIsMissingOrMisshapen) {
    std::vector<float> x(225), y(75);
    const surrogate_named_array in{"x", matrix(x.data(), 75, 3)}, out{"y", matrix(y.data(), 75, 1)};
    const auto run_network = [&](const surrogate_named_array& i, const surrogate_named_array& o) {
        return answer(surrogate_plan_run_network(plan.get(), 1, &i, 1, &o));
    };
    EXPECT_EQ(run_network(in, out).status, SURROGATE_SUCCESS);
    const Answer missing = run_network(in, in);
    EXPECT_EQ(missing.status, SURROGATE_UNKNOWN_NAME);
    EXPECT_TRUE(missing.says("network output 'y' is missing")) << missing;
    const Answer misshapen = run_network({"x", matrix(x.data(), 75, 2)}, out);
    EXPECT_EQ(misshapen.status, SURROGATE_SHAPE);
    EXPECT_TRUE(misshapen.says("(75, 2)") && misshapen.says("(75, 3)")) << misshapen;
    const surrogate_named_array twice[] = {in, in};
    EXPECT_EQ(surrogate_plan_run_network(plan.get(), 2, twice, 1, &out), SURROGATE_UNKNOWN_NAME);
}

}  // namespace
}  // namespace surrogate::test
