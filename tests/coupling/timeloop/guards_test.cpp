// SPDX-License-Identifier: Apache-2.0
// Every guard with every policy, where one point of one rank alone gives it cause.
#include "tests/coupling/timeloop/loop_case.hpp"

namespace surrogate::test {
namespace {

constexpr int64_t bad_row = 17;  // on the last of 2 and 3 ranks

/// A change that triggers one guard, and the report of the guard.
struct Cause {
    const char* guard;
    void (*prepare)(HeightLoop&);
    const char* field;
    double fraction;
    bool can_correct;
};

/// The prediction of the first step: bounds are set just below its largest value.
std::vector<double> prediction() {
    HeightLoop plain;
    plain.loop.step(1);
    return plain.all();
}

const Cause causes[] = {
    {"range", [](HeightLoop& c) { c.set(bad_row, 20); }, "height", 1.0 / 24, true},
    {"finite", [](HeightLoop& c) { c.set(bad_row, NAN); }, "height", 1.0 / 24, false},
    {"bounds",
     [](HeightLoop& c) {
         const std::vector<double> p = prediction();
         c.loop.set_bounds("height", -INFINITY, *std::ranges::max_element(p) - 1e-9);
     },
     "height", 1.0 / 24, true},
    {"drift", [](HeightLoop& c) { c.loop.conserve("mass", "height", 1e-12); }, "mass", 0, true},
};

struct Outcome {
    const char* policy;
    StepOutcome outcome, outcome_with_fallback;
};
const Outcome outcomes[] = {{"off", StepOutcome::accepted, StepOutcome::accepted},
                            {"warn", StepOutcome::accepted, StepOutcome::accepted},
                            {"correct", StepOutcome::corrected, StepOutcome::corrected},
                            {"fallback", StepOutcome::rejected, StepOutcome::fallback},
                            {"stop", StepOutcome::stopped, StepOutcome::stopped}};

void expect_finding(const Cause& cause, const std::string& policy, HeightLoop& c) {
    const surrogate_guard_info info = c.loop.guard(cause.guard);
    const bool speaks = policy != "off";
    EXPECT_EQ(info.n_violations, speaks);
    EXPECT_STREQ(info.field, speaks ? cause.field : "");
    EXPECT_DOUBLE_EQ(info.fraction, speaks ? cause.fraction : 0);
    EXPECT_TRUE(is_same_everywhere(info.value, c.comm));
    EXPECT_TRUE(is_same_everywhere(info.limit, c.comm));
    const std::string reason = c.loop.reason();
    EXPECT_EQ(contains(reason, std::string(cause.guard) + " (" + policy + "): "), speaks) << reason;
    EXPECT_EQ(contains(reason, std::string("'") + cause.field + "'"), speaks) << reason;
    for (const char* other : {"range", "distance", "finite", "bounds", "drift"}) {
        if (std::string(other) != cause.guard) {
            EXPECT_EQ(c.loop.guard(other).n_violations, 0) << other;
        }
    }
}

void expect_outcome(const Cause& cause, const Outcome& expected, bool with_fallback) {
    HeightLoop c;
    c.loop.set("finite", "warn");
    c.loop.set(cause.guard, expected.policy);
    int n_call = 0;
    if (with_fallback)
        c.loop.set_fallback([&](double, double) {
            ++n_call;
            std::ranges::fill(c.own.height, 11);
        });
    cause.prepare(c);
    const std::vector<double> before = c.all();
    const StepOutcome outcome = c.loop.step(2.5);
    EXPECT_EQ(outcome, with_fallback ? expected.outcome_with_fallback : expected.outcome);
    EXPECT_TRUE(is_same_everywhere(static_cast<double>(outcome), c.comm));
    const bool moves_on = outcome != StepOutcome::rejected && outcome != StepOutcome::stopped;
    EXPECT_EQ(same_bits(c.all(), before), !moves_on);
    EXPECT_EQ(c.loop.time(), moves_on ? 2.5 : 0);
    EXPECT_EQ(c.loop.n_step(), moves_on);
    EXPECT_EQ(n_call, outcome == StepOutcome::fallback);
    if (outcome == StepOutcome::fallback) {
        EXPECT_EQ(c.all(), std::vector<double>(24, 11));
    }
    expect_finding(cause, expected.policy, c);
    const char* const keys[] = {"accepted", "corrected", "fallback", "rejected", "stopped"};
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(c.loop.counter(keys[i]), i == static_cast<int>(outcome)) << keys[i];
    EXPECT_EQ(c.loop.counter("evaluations"), 1);
    EXPECT_EQ(c.loop.counter("steps"), moves_on);
}

TEST(TimeLoopGuards, DoWhatTheirPolicySaysOnAllRanks) {
    for (const Cause& cause : causes) {
        for (const Outcome& outcome : outcomes) {
            const std::string policy = outcome.policy;
            if (policy == "correct" && !cause.can_correct) continue;
            if (policy == "off" && std::string(cause.guard) == "finite") continue;
            for (const bool with_fallback : {false, true}) {
                SCOPED_TRACE(cause.guard + (" " + policy) +
                             (with_fallback ? " with function" : ""));
                expect_outcome(cause, outcome, with_fallback);
            }
        }
    }
}

TEST(TimeLoopGuards, AreSilentWhereNothingIsWrong) {
    HeightLoop c;
    c.loop.conserve("mass", "height", 1e3);
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
    EXPECT_EQ(c.loop.reason(), "");
    for (const char* guard : {"range", "distance", "finite", "bounds", "drift"}) {
        EXPECT_EQ(c.loop.guard(guard).n_violations, 0) << guard;
        EXPECT_STREQ(c.loop.guard(guard).field, "") << guard;
    }
}

TEST(TimeLoopRange, TellsTheWorstOfAllRanksAndItsEnd) {
    HeightLoop c;
    c.set(1, 17);
    c.set(bad_row, 20);
    c.set(22, 3);
    c.loop.step(1);
    EXPECT_EQ(c.loop.guard("range").value, 20);
    EXPECT_EQ(c.loop.guard("range").limit, 16);
    EXPECT_DOUBLE_EQ(c.loop.guard("range").fraction, 3.0 / 24);
    c.set(2, -30);
    c.loop.set("range", "stop");
    c.loop.step(1);
    EXPECT_EQ(c.loop.guard("range").value, -30);
    EXPECT_EQ(c.loop.guard("range").limit, 4);
}

/// The range is 4 .. 16.
TEST(TimeLoopRange, AMillionthOfItsWidthIsRounding) {
    for (const double beyond : {11e-6, 13e-6}) {
        HeightLoop c;
        c.set(bad_row, 16 + beyond);
        c.set(1, 4 - beyond);
        c.loop.step(1);
        EXPECT_EQ(c.loop.guard("range").n_violations, beyond > 12e-6) << beyond;
        HeightLoop corrected;
        corrected.set(bad_row, 16 + beyond);
        corrected.loop.set("range", "correct");
        EXPECT_EQ(corrected.loop.step(1), StepOutcome::corrected) << "whatever is moved is told";
    }
}

TEST(TimeLoopRange, AllowsAShareOfThePointsOfAllRanks) {
    for (const bool is_allowed : {true, false}) {
        HeightLoop c;
        c.loop.set("range", "stop");
        c.loop.set("range_max_fraction", is_allowed ? "0.0834" : "0.0832");
        c.set(1, 17);
        c.set(bad_row, 20);
        EXPECT_EQ(c.loop.step(1), is_allowed ? StepOutcome::accepted : StepOutcome::stopped);
    }
}

TEST(TimeLoopRange, CorrectedInputsAreThoseAtTheEndOfTheRange) {
    HeightLoop corrected, clamped;
    corrected.loop.set("range", "correct");
    corrected.loop.set("range_max_fraction", "0.5");
    corrected.set(3, 99);
    corrected.set(bad_row, -99);
    clamped.set(3, 16);
    clamped.set(bad_row, 4);
    EXPECT_EQ(corrected.loop.step(1), StepOutcome::corrected);
    EXPECT_EQ(clamped.loop.step(1), StepOutcome::accepted);
    EXPECT_TRUE(same_bits(corrected.all(), clamped.all()));
}

TEST(TimeLoopRange, ValuesAtTheEndsAreInsideInEitherType) {
    HeightLoop c(
        MPI_COMM_WORLD, "contiguous", {},
        {{"inputs", Entries{coordinate_entry(), input_entry("height", 10, 2, 4.1, 16.1)}}});
    c.loop.set("range", "stop");
    c.set(0, 4.1);
    c.set(bad_row, 16.1);
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
    std::vector<float> single(c.own.height.size(), 16.1f);
    c.loop.bind("height", column(single.data(), c.own.n()));
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
}

/// A domain that reaches beyond the card's coordinates.
TEST(TimeLoopRange, CoordinatesOnlyWarnWhereFieldsAreCorrected) {
    const Context context = mpi_context(MPI_COMM_WORLD);
    const Model model = height_model(context);
    Points own(own_rows("contiguous", 24, MPI_COMM_WORLD));
    if (!own.x.empty() && own.rows.back() == 23) own.x.back() = 1.5;
    const Domain domain(context, own.points());
    Plan plan(model, domain);
    TimeLoop loop(plan);
    loop.bind("height", column(own.height.data(), own.n()));
    loop.set("range", "correct");
    EXPECT_EQ(loop.step(1), StepOutcome::accepted);
    EXPECT_STREQ(loop.guard("range").field, "x");
    EXPECT_EQ(loop.guard("range").value, 1.5);
    EXPECT_EQ(loop.guard("range").limit, 1);
    loop.set("range", "fallback");
    EXPECT_EQ(loop.step(1), StepOutcome::rejected);
}

TEST(TimeLoopBounds, CorrectedPredictionsLieAtTheBound) {
    const std::vector<double> free = prediction();
    const double middle = free[5];
    HeightLoop c;
    c.loop.set("bounds", "correct");
    c.loop.set_bounds("height", middle, INFINITY);
    EXPECT_EQ(c.loop.step(1), StepOutcome::corrected);
    std::vector<double> expected = free;
    for (double& value : expected) value = std::max(value, middle);
    EXPECT_TRUE(same_bits(c.all(), expected));
    EXPECT_EQ(c.loop.guard("bounds").limit, middle);
    EXPECT_EQ(c.loop.guard("bounds").value, *std::ranges::min_element(free));
}

TEST(TimeLoopBounds, OfTheCardHoldUntilOthersAreSet) {
    nlohmann::json output = field_entry("height", 10, 2);
    output.update({{"min", 100.0}, {"max", 200.0}});
    HeightLoop c(MPI_COMM_WORLD, "contiguous", {}, {{"outputs", Entries{output}}});
    c.loop.set("bounds", "stop");
    EXPECT_EQ(c.loop.step(1), StepOutcome::stopped);
    EXPECT_EQ(c.loop.guard("bounds").fraction, 1);
    c.loop.set_bounds("height", -INFINITY, INFINITY);
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
}

/// The float next to a bound in double may lie beyond it.
TEST(TimeLoopBounds, CorrectedFloatsStayInside) {
    HeightLoop c;
    std::vector<float> single(c.own.height.begin(), c.own.height.end());
    c.loop.bind("height", column(single.data(), c.own.n()));
    c.loop.set("bounds", "correct");
    c.loop.set_bounds("height", 0.1, 0.1);
    EXPECT_EQ(c.loop.step(1), StepOutcome::corrected);
    for (const float value : single) EXPECT_EQ(value, 0.1f);
    c.loop.set("bounds", "stop");
    c.loop.set("range", "off");
    c.loop.set_bounds("height", -INFINITY, INFINITY);
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
}

}  // namespace
}  // namespace surrogate::test
