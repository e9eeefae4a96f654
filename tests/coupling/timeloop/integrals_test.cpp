// SPDX-License-Identifier: Apache-2.0
// Integrals that steps keep: expected values, corrections, and when a value is computed again.
#include "coupling/timeloop/exact_sum.hpp"
#include "tests/coupling/timeloop/loop_case.hpp"

namespace surrogate::test {
namespace {

double sum_of(const std::vector<double>& values) {
    timeloop::ExactSum sum;
    sum.add(values.data(), std::ssize(values));
    double limbs[timeloop::ExactSum::n_limb];
    sum.write(limbs);
    return timeloop::ExactSum::value(limbs);
}

HeightLoop& conserving(HeightLoop& c, double tolerance = 1e-12) {
    c.loop.set("drift", "correct");
    c.loop.set("range", "off");
    c.loop.conserve("mass", "height", tolerance);
    return c;
}

TEST(TimeLoopIntegrals, AreKeptByACorrectionOfEveryPoint) {
    HeightLoop free, c;
    conserving(c);
    const double mass = sum_of(c.all());
    free.loop.step(1);
    EXPECT_EQ(c.loop.step(1), StepOutcome::corrected);
    const std::vector<double> predicted = free.all(), corrected = c.all();
    const double shift = (mass - sum_of(predicted)) / 24;
    EXPECT_GT(std::abs(shift), 1e-6);
    for (size_t i = 0; i < predicted.size(); ++i) EXPECT_EQ(corrected[i], predicted[i] + shift);
    EXPECT_NEAR(sum_of(corrected), mass, 1e-13 * mass);
    EXPECT_EQ(c.loop.guard("drift").value, sum_of(predicted) - mass);
    for (int i = 0; i < 50; ++i) c.loop.step(1);
    EXPECT_NEAR(sum_of(c.all()), mass, 1e-13 * mass);
}

// A field that begins at zero is not forced to stay there.
TEST(TimeLoopIntegrals, AreNotKeptByACorrectionLargerThanTheField) {
    for (const double size : {0.0, 1e-3}) {
        HeightLoop c;
        for (double& height : c.own.height) height = size;
        conserving(c);
        const std::vector<double> before = c.all();
        EXPECT_EQ(c.loop.step(1), StepOutcome::rejected) << size;
        EXPECT_EQ(c.all(), before);
        EXPECT_EQ(c.loop.counter("corrected"), 0);
        EXPECT_TRUE(contains(c.loop.reason(), "a correction would be larger than the field itself"))
            << c.loop.reason();
        // The solver's own step gives the field a size: from here on corrections are small.
        for (size_t i = 0; i < c.own.height.size(); ++i)
            c.own.height[i] = 10 + 3 * std::sin(1.7 * static_cast<double>(c.own.rows[i]));
        c.loop.advance(1);
        EXPECT_EQ(c.loop.step(1), StepOutcome::corrected);
    }
}

TEST(TimeLoopIntegrals, MayChangeByTheTolerance) {
    HeightLoop free;
    const std::vector<double> before = free.all();
    free.loop.step(1);
    double scale = 0;
    for (const double value : before) scale += std::abs(value);
    const double change = std::abs(sum_of(free.all()) - sum_of(before)) / scale;
    for (const double factor : {0.99, 1.01}) {
        HeightLoop c;
        conserving(c, factor * change);
        EXPECT_EQ(c.loop.step(1), factor < 1 ? StepOutcome::corrected : StepOutcome::accepted);
    }
}

TEST(TimeLoopIntegrals, CountPointsByTheWeightsGiven) {
    HeightLoop free, c;
    std::vector<double> weights;
    for (const int64_t row : c.own.rows) weights.push_back(row < 12 ? 0.5 : 2.0);
    c.loop.set("drift", "correct");
    c.loop.conserve("mass", "height", 0, weights.data());
    std::ranges::fill(weights, NAN);  // they were copied
    const auto weighted = [](std::vector<double> values) {
        for (size_t i = 0; i < values.size(); ++i) values[i] *= i < 12 ? 0.5 : 2.0;
        return sum_of(values);
    };
    const double mass = weighted(c.all());
    free.loop.step(1);
    c.loop.step(1);
    const double shift = (mass - weighted(free.all())) / (12 * 2.5);
    const std::vector<double> predicted = free.all(), corrected = c.all();
    for (size_t i = 0; i < predicted.size(); ++i) EXPECT_EQ(corrected[i], predicted[i] + shift);
}

TEST(TimeLoopIntegrals, CountPointsByTheWeightsOfTheDomain) {
    const Context context = mpi_context(MPI_COMM_WORLD, {{"threads", "1"}});
    const Model model = height_model(context);
    Points own(own_rows("contiguous", 24, MPI_COMM_WORLD));
    std::vector<double> weights;
    for (const int64_t row : own.rows) weights.push_back(row < 12 ? 0.5 : 2.0);
    surrogate_points points = own.points();
    points.weight = weights.data();
    const Domain domain(context, points);
    Plan plan(model, domain);
    TimeLoop loop(plan);
    loop.bind("height", column(own.height.data(), own.n()));
    loop.set("drift", "correct");
    loop.conserve("mass", "height", 0);
    HeightLoop given;
    given.loop.set("drift", "correct");
    given.loop.conserve("mass", "height", 0, weights.data());
    EXPECT_EQ(loop.step(1), StepOutcome::corrected);
    EXPECT_EQ(given.loop.step(1), StepOutcome::corrected);
    EXPECT_EQ(own.height, given.own.height);
}

TEST(TimeLoopIntegrals, GrowByTheirSourcesOnce) {
    HeightLoop c;
    conserving(c);
    const double mass = sum_of(c.all());
    c.loop.add_source("mass", 1.5);
    c.loop.add_source("mass", 1.5);
    c.loop.step(1);
    EXPECT_NEAR(sum_of(c.all()), mass + 3, 1e-13 * mass);
    c.loop.step(1);
    EXPECT_NEAR(sum_of(c.all()), mass + 3, 1e-13 * mass);
}

TEST(TimeLoopIntegrals, GrowByTheirSourcesEvenlyOverSubSteps) {
    HeightLoop steps, sub_steps;
    conserving(steps);
    conserving(sub_steps);
    sub_steps.loop.set("step_s", "1");
    sub_steps.loop.add_source("mass", 2);
    sub_steps.loop.step(2);
    for (int i = 0; i < 2; ++i) {
        steps.loop.add_source("mass", 1);
        steps.loop.step(1);
    }
    EXPECT_TRUE(same_bits(steps.all(), sub_steps.all()));
}

TEST(TimeLoopIntegrals, KeepTheirSourceUntilTheStepIsMade) {
    HeightLoop c;
    conserving(c);
    const double mass = sum_of(c.all());
    c.loop.set("range", "fallback");
    c.loop.add_source("mass", 3);
    const double good = c.all()[17];
    c.set(17, 99);
    EXPECT_EQ(c.loop.step(1), StepOutcome::rejected);
    c.set(17, good);
    c.loop.set("range", "off");
    EXPECT_EQ(c.loop.step(1), StepOutcome::corrected);
    // The value was taken at the step that was rejected, with the bad number in it.
    EXPECT_NEAR(sum_of(c.all()), mass + 99 - good + 3, 1e-12 * mass);
}

TEST(TimeLoopIntegrals, AreTakenAnewAfterStepsOfTheSolver) {
    HeightLoop c;
    conserving(c);
    c.loop.step(1);
    for (double& value : c.own.height) value += 1;
    c.loop.add_source("mass", 1000);
    c.loop.advance(1);
    const double mass = sum_of(c.all());
    c.loop.step(1);
    EXPECT_NEAR(sum_of(c.all()), mass, 1e-13 * mass);
    c.loop.set_fallback([&](double, double) {
        for (double& value : c.own.height) value += 1;
    });
    c.loop.set("range", "fallback");
    c.set(17, 99);
    EXPECT_EQ(c.loop.step(1), StepOutcome::fallback);
    const double replaced = sum_of(c.all());
    c.loop.set("range", "off");
    c.loop.step(1);
    EXPECT_NEAR(sum_of(c.all()), replaced, 1e-13 * replaced);
}

TEST(TimeLoopIntegrals, ThatNoCorrectionCanKeepAreLeftToTheSolver) {
    HeightLoop c;
    conserving(c);
    c.loop.set("finite", "warn");
    c.loop.step(1);
    c.set(3, NAN);
    EXPECT_EQ(c.loop.step(1), StepOutcome::rejected);
    EXPECT_EQ(c.loop.guard("drift").value, INFINITY);
    EXPECT_TRUE(contains(c.loop.reason(), "drift (fallback)"));
}

TEST(TimeLoopIntegrals, WaitUntilTheirFieldIsFinite) {
    HeightLoop c;
    conserving(c);
    c.loop.set("finite", "fallback");
    const double good = c.all()[3];
    c.set(3, NAN);
    EXPECT_EQ(c.loop.step(1), StepOutcome::rejected);
    EXPECT_EQ(c.loop.guard("drift").n_violations, 0);
    c.set(3, good);
    const double mass = sum_of(c.all());
    EXPECT_EQ(c.loop.step(1), StepOutcome::corrected);
    EXPECT_NEAR(sum_of(c.all()), mass, 1e-13 * mass);
}

}  // namespace
}  // namespace surrogate::test
