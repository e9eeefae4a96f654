// SPDX-License-Identifier: Apache-2.0
// Checks the distance between the input statistics and the training statistics against the formula,
// on all ranks.
#include "tests/coupling/timeloop/loop_case.hpp"

namespace surrogate::test {
namespace {

constexpr double mean[] = {0.1, 1.0}, covariance[] = {0.04, 0.01, 0.01, 0.09}, allowed = 3;

nlohmann::json pooled_card() {
    return {{"pooled",
             {{"mean", {mean[0], mean[1]}},
              {"covariance", {{covariance[0], covariance[1]}, {covariance[2], covariance[3]}}},
              {"quantile", 0.99},
              {"distance", allowed},
              {"samples", 1000}}}};
}

/// sqrt(d^T C^-1 d) of mean and standard deviation of (height - 10) / 2, with weights.
double distance_of(const std::vector<double>& heights, const std::vector<double>& weights) {
    double total = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < heights.size(); ++i) {
        const double x = (heights[i] - 10) / 2;
        total += weights[i];
        sum += weights[i] * x;
        squares += weights[i] * x * x;
    }
    const double m = sum / total, s = std::sqrt(squares / total - m * m);
    const double a = m - mean[0], b = s - mean[1];
    const double determinant = covariance[0] * covariance[3] - covariance[1] * covariance[2];
    return std::sqrt((covariance[3] * a * a - 2 * covariance[1] * a * b + covariance[0] * b * b) /
                     determinant);
}

void move_up(HeightLoop& c, double shift) {
    for (double& height : c.own.height) height += shift;
}

TEST(TimeLoopDistance, IsThatOfMahalanobis) {
    for (const double shift : {1.5, -2.5, 3.0}) {
        HeightLoop c(MPI_COMM_WORLD, "contiguous", {}, pooled_card());
        c.loop.set("distance", "stop");
        move_up(c, shift);
        const double expected = distance_of(c.all(), std::vector<double>(24, 1));
        ASSERT_GT(expected, allowed);
        EXPECT_EQ(c.loop.step(1), StepOutcome::stopped);
        const surrogate_guard_info info = c.loop.guard("distance");
        EXPECT_NEAR(info.value, expected, 1e-12 * expected);
        EXPECT_EQ(info.limit, allowed);
        EXPECT_STREQ(info.field, "height");
        EXPECT_TRUE(is_same_everywhere(info.value, c.comm));
    }
}

TEST(TimeLoopDistance, CountsPointsByTheWeightsOfTheDomain) {
    const Context context = mpi_context(MPI_COMM_WORLD, {{"threads", "1"}});
    const Model model = height_model(context, pooled_card());
    Points own(own_rows("scattered", 24, MPI_COMM_WORLD));
    std::vector<double> weights, all_weights;
    for (const int64_t row : own.rows) weights.push_back(row < 3 ? 10.0 : 0.25);
    for (int64_t row = 0; row < 24; ++row) all_weights.push_back(row < 3 ? 10.0 : 0.25);
    surrogate_points points = own.points();
    points.weight = weights.data();
    const Domain domain(context, points);
    Plan plan(model, domain);
    TimeLoop loop(plan);
    loop.bind("height", column(own.height.data(), own.n()));
    loop.set("distance", "fallback");
    loop.set("distance_factor", "0.0001");
    EXPECT_EQ(loop.step(1), StepOutcome::rejected);
    const double expected = distance_of(HeightLoop().all(), all_weights);
    EXPECT_NEAR(loop.guard("distance").value, expected, 1e-12 * expected);
}

TEST(TimeLoopDistance, WarnsByDefaultWhereTheCardHasStatistics) {
    HeightLoop c(MPI_COMM_WORLD, "contiguous", {}, pooled_card());
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
    EXPECT_EQ(c.loop.guard("distance").n_violations, 0);
    move_up(c, 5);
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
    EXPECT_EQ(c.loop.guard("distance").n_violations, 1);
    EXPECT_TRUE(contains(c.loop.reason(), "distance (warn)"));
}

TEST(TimeLoopDistance, IsAllowedByItsFactor) {
    for (const bool is_allowed : {true, false}) {
        HeightLoop c(MPI_COMM_WORLD, "contiguous", {}, pooled_card());
        move_up(c, 3);
        const double factor = distance_of(c.all(), std::vector<double>(24, 1)) / allowed;
        c.loop.set("distance", "fallback");
        c.loop.set("distance_factor", std::to_string(factor * (is_allowed ? 1.01 : 0.99)));
        EXPECT_EQ(c.loop.step(1), is_allowed ? StepOutcome::accepted : StepOutcome::rejected);
    }
}

TEST(TimeLoopDistance, NeedsStatisticsOnTheCard) {
    HeightLoop c;
    for (const char* policy : {"warn", "fallback", "stop"}) {
        const Answer found = answer(surrogate_timeloop_set(c.loop.get(), "distance", policy));
        EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
        EXPECT_TRUE(found.says("add_pooled.py")) << found;
    }
    EXPECT_NO_THROW(c.loop.set("distance", "off"));
}

/// Numbers whose squares no double holds, and those that are none.
TEST(TimeLoopDistance, OfImpossibleNumbersIsLargeOrLeftToOthers) {
    HeightLoop c(MPI_COMM_WORLD, "contiguous", {}, pooled_card());
    c.loop.set("range", "off");
    c.loop.set("finite", "warn");
    c.loop.set("distance", "stop");
    c.set(17, 1e30);
    EXPECT_EQ(c.loop.step(1), StepOutcome::stopped);
    EXPECT_GT(c.loop.guard("distance").value, 1e28);
    c.set(17, 1e300);
    EXPECT_EQ(c.loop.step(1), StepOutcome::stopped);
    EXPECT_TRUE(std::isfinite(c.loop.guard("distance").value));
    c.set(17, NAN);
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
    EXPECT_STREQ(c.loop.guard("distance").field, "");
}

}  // namespace
}  // namespace surrogate::test
