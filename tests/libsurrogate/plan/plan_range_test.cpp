// SPDX-License-Identifier: Apache-2.0
// Inputs outside the ranges of the card are counted, warned of or rejected. The model was trained
// on the unit square and on mobilities from 3 to 12.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/memory_meter.hpp"

namespace surrogate::test {
namespace {

constexpr int32_t x_input = 0, y_input = 1, mobility_input = 2;

struct RangeRun {
    const char *name, *backend, *reproducible, *threads, *precision = "fp32";
    Options options(const char* range = "count") const {
        return {{"backend", backend},
                {"reproducible", reproducible},
                {"threads", threads},
                {"precision", precision},
                {"range", range}};
    }
};

class PlanRange : public testing::TestWithParam<RangeRun> {
protected:
    static void expect(const surrogate_range_info& found, const std::string& name, int64_t n,
                       double worst) {
        EXPECT_EQ(found.name, name);
        EXPECT_EQ(found.n_outside, n) << name;
        EXPECT_EQ(found.worst, worst) << name;
    }

    /// The mobility as it was, where it is bound.
    static void restore(DarcyCase& points) {
        std::ranges::copy(DarcyCase(points.ids).mobility, points.mobility.begin());
    }

    Context context;
    Model model{context, darcy_model};
};

TEST_P(PlanRange, CountsAreThoseOfThePointsOutside) {
    DarcyCase points(first_rows(700));
    const Domain domain = points.domain(context);
    Plan plan(model, domain, GetParam().options());
    points.bind(plan);
    EXPECT_EQ(plan.counter("outside_range"), 0);
    plan.run();
    const std::vector<double> expected = points.pressure;
    for (const int32_t input : {x_input, y_input, mobility_input}) {
        EXPECT_EQ(plan.range(input).n_outside, 0);
        EXPECT_EQ(plan.range(input).n_points, 700);
    }
    points.mobility[3] = 12.5;
    points.mobility[699] = 1e6;
    points.mobility[64] = 2.9;
    EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_SUCCESS);
    const surrogate_range_info mobility = plan.range(mobility_input);
    expect(mobility, "mobility", 3, 1e6);
    EXPECT_EQ(mobility.max, model.inputs()[2].max);
    EXPECT_EQ(mobility.min, model.inputs()[2].min);
    EXPECT_EQ(plan.counter("outside_range"), 3);
    for (double p : points.pressure) EXPECT_TRUE(std::isfinite(p));
    restore(points);
    plan.run();
    expect(plan.range(mobility_input), "mobility", 0, 0);
    EXPECT_EQ(points.pressure, expected);
}

TEST_P(PlanRange, ValuesOfEveryTypeAndStrideAreCounted) {
    const DarcyCase points(first_rows(300));
    const Domain domain = points.domain(context);
    Plan plan(model, domain, GetParam().options());
    std::vector<float> rows(5 * 300, -100), pressure(300);  // a state of 5 fields
    for (size_t i = 0; i < 300; ++i)
        rows[5 * i + 2] = static_cast<float>(i % 10 == 0 ? -4 : points.mobility[i]);
    plan.bind_input("mobility", column(rows.data() + 2, 300, 5));
    plan.bind_output("pressure", column(pressure.data(), 300));
    plan.run();
    expect(plan.range(mobility_input), "mobility", 30, -4);
}

TEST_P(PlanRange, NanIsNotOutside) {
    DarcyCase points(first_rows(200));
    const Domain domain = points.domain(context);
    Plan plan(model, domain, GetParam().options());
    points.bind(plan);
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        points.mobility[123] = bad;
        points.mobility[124] = 100;
        EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_NOT_FINITE);
        expect(plan.range(mobility_input), "mobility", 1, 100);
    }
}

TEST_P(PlanRange, ErrorComesWithPredictionsAndLeavesNoTrace) {
    DarcyCase points(first_rows(200));
    const std::vector<double> expected = predict(model, context, points, GetParam().options());
    const Domain domain = points.domain(context);
    Plan counts(model, domain, GetParam().options()),
        stops(model, domain, GetParam().options("error"));
    points.mobility[50] = 1000;
    points.bind(counts);
    counts.run();
    const std::vector<double> beyond = points.pressure;
    points.pressure.assign(200, -1);
    points.bind(stops);
    const Answer refused = answer(surrogate_plan_run(stops.get()));
    EXPECT_EQ(refused.status, SURROGATE_OUT_OF_RANGE);
    EXPECT_STREQ(surrogate_status_name(refused.status), "OUT_OF_RANGE");
    EXPECT_TRUE(refused.says("'mobility'") && refused.says("1 of 200 points") &&
                refused.says("farthest 1000") && refused.says(" .. "))
        << refused;
    EXPECT_EQ(points.pressure, beyond);
    restore(points);
    EXPECT_EQ(surrogate_plan_run(stops.get()), SURROGATE_SUCCESS);
    EXPECT_EQ(points.pressure, expected);
}

TEST_P(PlanRange, WarningComesOnceAField) {
    std::vector<std::string> log;
    DarcyCase points(first_rows(100));
    points.x[0] = 7;
    const Domain domain = points.domain(context);
    context.set_log(
        [](void* user, const char* text) {
            static_cast<std::vector<std::string>*>(user)->push_back(text);
        },
        &log);
    Plan plan(model, domain, GetParam().options("warn"));
    points.bind(plan);
    log.clear();  // the plan's table
    plan.run();
    ASSERT_EQ(log.size(), 1u);
    EXPECT_EQ(log[0].find("warning: input 'x' lies outside"), 0u) << log[0];
    EXPECT_NE(log[0].find("1 of 100 points, farthest 7"), std::string::npos) << log[0];
    plan.run();
    points.mobility[4] = 50;
    plan.run();
    plan.run();
    ASSERT_EQ(log.size(), 2u);
    EXPECT_EQ(log[1].find("warning: input 'mobility'"), 0u) << log[1];
}

/// Calls of a plan from the log function that one of its runs calls, by this thread and by another.
struct SecondUser {
    surrogate_context* context;
    surrogate_plan* plan;
    DarcyCase* points;
    std::vector<Answer> found;
    std::string text_of_context;

    void call_all() {
        const surrogate_array array = column(points->mobility.data(), points->n());
        const surrogate_block block = surrogate::block(points->mobility.data(), {points->n()}, {1});
        for (const surrogate_status status :
             {surrogate_plan_run(plan), surrogate_plan_run_network(plan, 0, nullptr, 0, nullptr),
              surrogate_plan_run_with_error(plan, SURROGATE_IO, "no"), surrogate_plan_wait(plan),
              surrogate_plan_bind_input(plan, "mobility", nullptr, &array),
              surrogate_plan_bind_output(plan, "pressure", nullptr, &array),
              surrogate_plan_bind_input_block(plan, "mobility", nullptr, &block),
              surrogate_plan_bind_output_block(plan, "pressure", nullptr, &block),
              surrogate_plan_unbind(plan), surrogate_plan_set_stream(plan, nullptr)})
            found.push_back(answer(status));
    }
    static void log(void* user, const char*) {
        auto* const own = static_cast<SecondUser*>(user);
        if (!own->plan) return;  // the table of the plan, which is not made yet
        std::thread([own] { own->call_all(); }).join();
        own->call_all();
        own->text_of_context = surrogate_error(own->context);
    }
};

TEST_P(PlanRange, SecondCallIsRefusedWhileAPlanRuns) {
    DarcyCase points(first_rows(100));
    points.mobility[4] = 50;
    const Domain domain = points.domain(context);
    const std::vector<double> expected = predict(model, context, points, GetParam().options());
    SecondUser second{context.get(), nullptr, &points, {}, "not called"};
    context.set_log(SecondUser::log, &second);
    Plan plan(model, domain, GetParam().options("warn"));
    points.bind(plan);
    second.plan = plan.get();
    plan.run();
    EXPECT_EQ(points.pressure, expected);
    EXPECT_EQ(second.found.size(), 20u);
    for (const Answer& found : second.found) {
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
        EXPECT_TRUE(found.says("the plan is in use by another call")) << found;
    }
    EXPECT_EQ(second.text_of_context, "") << "the context belongs to the first call";
    plan.run();
    EXPECT_EQ(points.pressure, expected);
}

TEST_P(PlanRange, RunsThatCountAllocateNothing) {
    DarcyCase points(first_rows(200));
    std::ranges::fill(points.mobility, 100);
    const Domain domain = points.domain(context);
    Plan plan(model, domain, GetParam().options());
    points.bind(plan);
    plan.run();
    const MemoryMeter meter;
    const surrogate_status status = surrogate_plan_run(plan.get());
    EXPECT_EQ(meter.n_allocation(), 0);
    EXPECT_EQ(status, SURROGATE_SUCCESS);
    expect(plan.range(mobility_input), "mobility", 200, 100);
}

INSTANTIATE_TEST_SUITE_P(Ways, PlanRange,
                         testing::Values(RangeRun{"Fast", "simd", "false", "1"},
                                         RangeRun{"FastThreads", "simd", "false", "3"},
                                         RangeRun{"Reproducible", "simd", "true", "2"},
                                         RangeRun{"Reference", "ref", "false", "1"},
                                         RangeRun{"Double", "ref", "false", "2", "fp64"}),
                         [](const auto& way) { return std::string(way.param.name); });

class PlanCoordinates : public testing::Test {
protected:
    std::string describe(const std::vector<double>& x, int64_t n_axis) {
        const int64_t n = std::ssize(x) / n_axis;
        const Domain domain(context, matrix(x.data(), n, n_axis));
        const Plan plan(model, domain);
        for (const int32_t input : {x_input, y_input}) counted.push_back(plan.range(input));
        return plan.describe();
    }
    static void expect_line(const std::string& text, const std::string& line) {
        EXPECT_NE(text.find(line + "\n"), std::string::npos) << line << "\nis not in\n" << text;
    }

    Context context;
    Model model{context, darcy_model};
    std::vector<surrogate_range_info> counted;
};

TEST_F(PlanCoordinates, InMillimetresAreCountedAtPlanning) {
    const std::string text = describe({0.5, 0, 500, 1, 1000, 0.25}, 2);
    expect_line(text,
                "coordinate x spans 0.5 .. 1000: 2 of 3 points outside the card's range 0 .. 1");
    expect_line(text,
                "coordinate y spans 0 .. 1: none of 3 points outside the card's range 0 .. 1");
    EXPECT_EQ(counted[0].n_outside, 2);
    EXPECT_EQ(counted[0].worst, 1000);
    EXPECT_EQ(counted[1].n_outside, 0);
}

TEST_F(PlanCoordinates, ThatTheModelDoesNotReadAreNamed) {
    const std::string text = describe({0.5, 0, -3, 0.5, 1, 12}, 3);
    expect_line(text, "coordinate z of the domain (-3 .. 12) is ignored: the model has x, y");
    EXPECT_EQ(describe({0.5, 0, 1, 1}, 2).find("ignored"), std::string::npos);
}

TEST_F(PlanCoordinates, OutsideStopARunThatIsToldTo) {
    DarcyCase points(first_rows(20));
    points.x[11] = -0.5;
    const Domain domain = points.domain(context);
    Plan plan(model, domain, {{"range", "error"}});
    points.bind(plan);
    const Answer refused = answer(surrogate_plan_run(plan.get()));
    EXPECT_EQ(refused.status, SURROGATE_OUT_OF_RANGE);
    EXPECT_TRUE(refused.says("'y'") && refused.says("1 of 20 points") && refused.says("-0.5"))
        << refused;
    EXPECT_EQ(plan.counter("outside_range"), 1);
    for (double p : points.pressure) EXPECT_TRUE(std::isfinite(p) && p != -1);
}

TEST_F(PlanCoordinates, BareNetworksHaveNoRanges) {
    DarcyCase points(first_rows(20));
    const Domain domain = points.domain(context);
    Plan plan(model, domain, {{"range", "error"}});
    std::vector<float> x(60, 1000), y(20);
    plan.run_network({{"x", matrix(x.data(), 20, 3)}}, {{"y", matrix(y.data(), 20, 1)}});
    EXPECT_EQ(plan.counter("outside_range"), 0);
}

TEST_F(PlanCoordinates, InputsThatDoNotExistAreRefused) {
    const Domain domain = DarcyCase(first_rows(3)).domain(context);
    const Plan plan(model, domain);
    surrogate_range_info info{};
    for (const int32_t input : {-1, 3}) {
        const Answer refused = answer(surrogate_plan_range(plan.get(), input, &info));
        EXPECT_EQ(refused.status, SURROGATE_INVALID_ARGUMENT);
        EXPECT_TRUE(refused.says("of 3 does not exist")) << refused;
    }
    EXPECT_EQ(surrogate_plan_range(nullptr, 0, &info), SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(surrogate_plan_range(plan.get(), 0, nullptr), SURROGATE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace surrogate::test
