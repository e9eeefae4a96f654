// SPDX-License-Identifier: Apache-2.0
// Results of a run on one rank: properties, smallest and largest sizes, values that are not finite,
// counters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/plan_traffic.hpp"

namespace surrogate::test {
namespace {

const Options reproducible{{"reproducible", "true"}};

class PlanRun : public testing::Test {
protected:
    std::vector<double> predictions(const DarcyCase& points, const Options& options = {}) {
        return predict(model, context, points, options);
    }
    /// Against the reference in double precision.
    double error(const DarcyCase& points) {
        return relative_difference(predictions(points),
                                   predictions(points, {{"precision", "fp64"}}));
    }

    Context context;
    Model model{context, darcy_model};
};

TEST_F(PlanRun, PermutingPointsPermutesPredictions) {
    std::vector<int64_t> rows = first_rows(1300);
    const DarcyCase ordered(rows);
    std::shuffle(rows.begin(), rows.end(), std::mt19937(20240));
    const DarcyCase shuffled(rows);
    const auto sorted = [&](const std::vector<double>& by_row) {
        std::vector<double> values(by_row.size());
        for (size_t i = 0; i < values.size(); ++i) values[static_cast<size_t>(rows[i])] = by_row[i];
        return values;
    };
    EXPECT_LE(relative_difference(sorted(predictions(shuffled)), predictions(ordered)),
              order_tolerance);
    EXPECT_EQ(sorted(predictions(shuffled, reproducible)), predictions(ordered, reproducible));
}

TEST_F(PlanRun, ReproducibleBitsDoNotDependOnThreadsOrVectorWidth) {
    const DarcyCase points(first_rows(1100));  // two blocks of 1024
    const std::vector<double> expected = predictions(points, reproducible);
    for (const char* threads : {"1", "2", "3"}) {
        for (const char* vector : {"auto", "scalar"}) {
            const Options options{
                {"reproducible", "true"}, {"threads", threads}, {"vector", vector}};
            EXPECT_EQ(predictions(points, options), expected) << threads << " " << vector;
        }
    }
}

TEST_F(PlanRun, ReproducibleOrderIsTheSameByIdsAndByCoordinates) {
    // The mode promises bits for one way to order points; both ways must solve the same problem.
    DarcyCase points(first_rows(300));
    const Domain by_coordinates = points.domain(context, false);
    Plan plan(model, by_coordinates, reproducible);
    points.bind(plan);
    plan.run();
    EXPECT_LE(relative_difference(points.pressure, predictions(points, reproducible)),
              order_tolerance);
}

TEST_F(PlanRun, FastAndReproducibleModeAgree) {
    const DarcyCase points(first_rows(2500));
    EXPECT_LE(relative_difference(predictions(points), predictions(points, reproducible)),
              order_tolerance);
}

TEST_F(PlanRun, NoPointsAreFine) {
    EXPECT_TRUE(predictions(DarcyCase({})).empty());
    EXPECT_TRUE(predictions(DarcyCase({}), reproducible).empty());
}

// One point, two, and 63: fewer than the model's 64 latents.
TEST_F(PlanRun, FewPointsEqualTheDoubleReference) {
    for (int64_t n : {1, 2, 3, 63, 65})
        EXPECT_LE(error(DarcyCase(first_rows(n))), order_tolerance) << n << " points";
}

TEST_F(PlanRun, EqualPointsGetEqualPredictions) {
    const std::vector<double> pressure = predictions(DarcyCase({5, 5, 5, 5}));
    EXPECT_LE(relative_difference(pressure, std::vector<double>(4, predictions(DarcyCase({5}))[0])),
              order_tolerance);
    EXPECT_EQ(pressure, std::vector<double>(4, pressure[0]));
}

TEST_F(PlanRun, ReproducibleModeNamesEqualPoints) {
    const DarcyCase twice({7, 8, 7});
    const auto refused = [&](const Domain& domain) {
        surrogate_plan* plan = nullptr;
        return answer(
            surrogate_plan_create(model.get(), domain.get(), nullptr, reproducible.get(), &plan));
    };
    const Answer by_id = refused(twice.domain(context));
    EXPECT_EQ(by_id.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(by_id.says("global id 7")) << by_id;
    const Answer by_coordinates = refused(twice.domain(context, false));
    EXPECT_EQ(by_coordinates.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(by_coordinates.says("coordinates (") && by_coordinates.says("give global ids"))
        << by_coordinates;
}

TEST_F(PlanRun, PointsVeryFarApartEqualTheDoubleReference) {
    DarcyCase points(first_rows(70));
    points.x[10] = 1e15;
    points.x[11] = -1e15;
    EXPECT_LE(error(points), order_tolerance);
}

TEST_F(PlanRun, TwoPlansOnOneModelRunInTurns) {
    DarcyCase a(first_rows(40)), b(first_rows(90));
    const std::vector<double> expected_a = predictions(a),
                              expected_b = predictions(b, reproducible);
    const Domain domain_a = a.domain(context), domain_b = b.domain(context);
    Plan plan_a(model, domain_a), plan_b(model, domain_b, reproducible);
    a.bind(plan_a);
    b.bind(plan_b);
    for (int step = 0; step < 3; ++step) {
        a.pressure.assign(a.pressure.size(), 0);
        b.pressure.assign(b.pressure.size(), 0);
        plan_b.run();
        plan_a.run();
        EXPECT_EQ(a.pressure, expected_a);
        EXPECT_EQ(b.pressure, expected_b);
    }
}

struct BadValue {
    double value;
    const char* text;
};

class PlanRunBadValue : public PlanRun,
                        public testing::WithParamInterface<std::tuple<BadValue, const char*>> {};

TEST_P(PlanRunBadValue, IsNamedWithFieldAndPointAndLeavesNoTrace) {
    const auto& [bad, mode] = GetParam();
    DarcyCase points(first_rows(200));
    const Domain domain = points.domain(context);
    Plan plan(model, domain, {{"reproducible", mode}});
    points.bind(plan);
    plan.run();
    const std::vector<double> expected = points.pressure;

    const double good = std::exchange(points.mobility[123], bad.value);
    const Answer refused = answer(surrogate_plan_run(plan.get()));
    EXPECT_EQ(refused.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(refused.says("'mobility'") && refused.says("id 123") && refused.says(bad.text))
        << refused;
    for (double p : points.pressure) EXPECT_TRUE(std::isnan(p));

    points.mobility[123] = good;
    plan.run();
    EXPECT_EQ(points.pressure, expected);
}

TEST_P(PlanRunBadValue, GivesNanEverywhereAndNeverZerosIfNobodyChecks) {
    const auto& [bad, mode] = GetParam();
    DarcyCase points(first_rows(200));
    points.mobility[123] = bad.value;
    const Domain domain = points.domain(context);
    Plan plan(model, domain, {{"reproducible", mode}, {"check_finite", "false"}});
    points.bind(plan);
    EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_SUCCESS);
    for (double p : points.pressure) EXPECT_TRUE(std::isnan(p));
}

INSTANTIATE_TEST_SUITE_P(
    Each, PlanRunBadValue,
    testing::Combine(testing::Values(BadValue{std::numeric_limits<double>::quiet_NaN(), "nan"},
                                     BadValue{std::numeric_limits<double>::infinity(), "inf"},
                                     BadValue{-std::numeric_limits<double>::infinity(), "-inf"},
                                     BadValue{1e300,
                                              "1e+300"}),  // finite, but not in single precision
                     testing::Values("false", "true")));

TEST_F(PlanRun, BadCoordinateNamesAxisAndPoint) {
    DarcyCase points(first_rows(10));
    points.x[7] = NAN;
    surrogate_domain* domain = nullptr;
    const surrogate_points given = points.points();
    const Answer refused = answer(surrogate_domain_create_points(context.get(), &given, &domain));
    EXPECT_EQ(refused.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(refused.says("coordinate 1 of local point 3")) << refused;
    EXPECT_EQ(domain, nullptr);
}

/// The model with a card that says its predictions are 1.8e308 apart: an honest network, a hopeless
/// unit.
std::string model_beyond_range() {
    std::ifstream file(SURROGATE_TEST_DATA "/darcy_flow/model.safetensors", std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const std::string std_of_output = "0.004072603303939104";
    bytes.replace(bytes.find(std_of_output), std_of_output.size(), "1.7726033039391e+308");
    const std::string path = testing::TempDir() + "/beyond_range.safetensors";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

TEST_F(PlanRun, PredictionBeyondTheRangeOfNumbersIsNamedAndNan) {
    const Model far(context, model_beyond_range());
    DarcyCase points(first_rows(70));
    const Domain domain = points.domain(context);
    Plan plan(far, domain);
    points.bind(plan);
    const Answer run = answer(surrogate_plan_run(plan.get()));
    EXPECT_EQ(run.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(run.says("output 'pressure' is ") && run.says("inf at point with id ")) << run;
    EXPECT_GT(std::ranges::count_if(points.pressure, [](double p) { return std::isnan(p); }), 0);
    EXPECT_EQ(std::ranges::count_if(points.pressure, [](double p) { return std::isinf(p); }), 0);
}

TEST_F(PlanRun, TableTellsWhatWasSent) {
    for (const char* mode : {"false", "true"}) {
        DarcyCase points(first_rows(1100));
        const Domain domain = points.domain(context);
        Plan plan(model, domain, {{"reproducible", mode}});
        points.bind(plan);
        plan.run();
        const Traffic sent = traffic_of_run(plan);
        EXPECT_EQ(traffic_of_table(plan), sent) << plan.describe();
        EXPECT_GT(sent.bytes, 0);
    }
}

TEST_F(PlanRun, LogReceivesTheTableOfAPlanOnce) {
    std::vector<std::string> log;
    context.set_log(
        [](void* user, const char* text) {
            static_cast<std::vector<std::string>*>(user)->push_back(text);
        },
        &log);
    const Domain domain = DarcyCase(first_rows(70)).domain(context);
    Plan plan(model, domain);
    ASSERT_EQ(log.size(), 1u);
    EXPECT_EQ(log[0], plan.describe());
    context.set_log(nullptr, nullptr);
    const Plan silent(model, domain);
    EXPECT_EQ(log.size(), 1u);
}

TEST_F(PlanRun, CountsItsRuns) {
    DarcyCase points(first_rows(4));
    const Domain domain = points.domain(context);
    Plan plan(model, domain);
    EXPECT_EQ(plan.counter("runs"), 0);
    points.bind(plan);
    plan.run();
    plan.run();
    EXPECT_EQ(plan.counter("runs"), 2);
    EXPECT_EQ(plan.counter("points_local"), 4);
    const int64_t pairs = 4 * 8 * 64;  // points x heads x latents of darcy_flow, which has 4 blocks
    EXPECT_EQ(plan.counter("exponentials"), 2 * pairs * 4);
    EXPECT_GT(plan.counter("flops"), plan.counter("exponentials"));
    int64_t value = 0;
    const Answer unknown = answer(surrogate_plan_counter(plan.get(), "bytes_send", &value));
    EXPECT_EQ(unknown.status, SURROGATE_UNKNOWN_NAME);
    EXPECT_TRUE(unknown.says("did you mean 'bytes_sent'")) << unknown;
}

}  // namespace
}  // namespace surrogate::test
