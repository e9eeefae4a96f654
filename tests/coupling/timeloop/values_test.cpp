// SPDX-License-Identifier: Apache-2.0
// Strange numbers in a field: in one point, on one rank, everywhere; under each policy; with the
// floating-point traps that solvers switch on.
#include <optional>

#include "tests/coupling/timeloop/loop_case.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {
namespace {

struct Value {
    const char* name;
    double value;
    bool is_finite, is_inside;
};
const Value values[] = {
    {"NaN", NAN, false, true},
    {"signaling NaN", std::numeric_limits<double>::signaling_NaN(), false, true},
    {"infinity", INFINITY, false, true},
    {"minus infinity", -INFINITY, false, true},
    {"a denormal number", 5e-324, true, false},
    {"1e30", 1e30, true, false},
    {"the largest number", std::numeric_limits<double>::max(), true, false},
    {"minus zero", -0.0, true, false},
};

enum class Where { point, rank, everywhere };

void fill(HeightLoop& c, Where where, double value) {
    if (where == Where::point) c.set(17, value);
    const bool is_all = where == Where::everywhere;
    if (where == Where::rank ? c.context.rank() == c.context.size() - 1 : is_all)
        std::ranges::fill(c.own.height, value);
}

StepOutcome outcome_of(const std::string& policy) {
    return policy == "stop"       ? StepOutcome::stopped
           : policy == "fallback" ? StepOutcome::rejected
           : policy == "correct"  ? StepOutcome::corrected
                                  : StepOutcome::accepted;
}

void expect_of(const Value& value, Where where, const char* range, const char* finite) {
    HeightLoop c;
    c.loop.set("range", range);
    c.loop.set("finite", finite);
    c.loop.conserve("mass", "height", 1e300);
    fill(c, where, value.value);
    const std::vector<double> before = c.own.height;
    StepOutcome outcome = StepOutcome::stopped;
    {
        // No traps for 1e30, which may overflow in the network, and for a signaling NaN.
        const std::string name = value.name;
        const bool is_trapped = name == "NaN" || name == "minus zero" || contains(name, "inf") ||
                                contains(name, "denormal");
        std::optional<TrapGuard> traps;
        if (is_trapped) traps.emplace();
        outcome = c.loop.step(1);
    }
    // The largest number overflows in the network's type, so that the prediction is not finite.
    const bool is_lost = c.loop.guard("finite").n_violations > 0;
    EXPECT_TRUE(value.is_finite || is_lost);
    EXPECT_EQ(c.loop.guard("range").n_violations, !value.is_inside);
    const StepOutcome by_range = value.is_inside ? StepOutcome::accepted : outcome_of(range);
    const StepOutcome by_finite = is_lost ? outcome_of(finite) : StepOutcome::accepted;
    EXPECT_EQ(outcome, std::max(by_range, by_finite));
    EXPECT_TRUE(is_same_everywhere(static_cast<double>(outcome), c.comm));
    EXPECT_EQ(c.loop.guard("finite").n_violations, is_lost);
    if (outcome == StepOutcome::stopped || outcome == StepOutcome::rejected) {
        EXPECT_TRUE(same_bits(c.own.height, before));
    } else if (is_lost) {
        for (const double prediction : c.own.height) EXPECT_TRUE(std::isnan(prediction));
    }
    std::ranges::fill(c.own.height, 10);
    c.loop.advance(1);
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted) << "afterwards";
}

TEST(TimeLoopValues, FollowThePolicyWithTheSameVerdictOnAllRanks) {
    for (const Value& value : values) {
        for (const Where where : {Where::point, Where::rank, Where::everywhere}) {
            for (const char* range : {"off", "warn", "correct", "fallback", "stop"}) {
                if (std::string(range) == "off" && !value.is_inside) continue;
                for (const char* finite : {"warn", "fallback", "stop"}) {
                    SCOPED_TRACE(std::string(value.name) + " at " +
                                 std::to_string(static_cast<int>(where)) + ", range=" + range +
                                 ", finite=" + finite);
                    expect_of(value, where, range, finite);
                }
            }
        }
    }
}

/// With check_finite=false the run itself says nothing.
TEST(TimeLoopValues, AreSeenWhereThePlanDoesNotLook) {
    HeightLoop c(MPI_COMM_WORLD, "contiguous", {{"check_finite", "false"}});
    c.set(17, NAN);
    const std::vector<double> before = c.own.height;
    EXPECT_EQ(c.loop.step(1), StepOutcome::stopped);
    EXPECT_STREQ(c.loop.guard("finite").field, "height");
    EXPECT_DOUBLE_EQ(c.loop.guard("finite").fraction, 1.0 / 24);
    EXPECT_TRUE(same_bits(c.own.height, before));
}

/// A prediction that a double holds and a float does not.
TEST(TimeLoopValues, BeyondTheSolversTypeAreNotFinite) {
    nlohmann::json output = field_entry("height", 0, 1e38);
    HeightLoop c(MPI_COMM_WORLD, "contiguous", {}, {{"outputs", Entries{output}}});
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);
    const std::vector<double> wide = c.all();
    const double largest =
        std::abs(*std::ranges::max_element(wide, {}, [](double value) { return std::abs(value); }));
    HeightLoop single(MPI_COMM_WORLD, "contiguous", {},
                      {{"outputs", Entries{field_entry("height", 0, 1e38 * 4e38 / largest)}}});
    std::vector<float> height(single.own.height.begin(), single.own.height.end());
    single.loop.bind("height", column(height.data(), single.own.n()));
    const TrapGuard traps;
    EXPECT_EQ(single.loop.step(1), StepOutcome::stopped);
    EXPECT_TRUE(contains(single.loop.reason(), "prediction 'height'"));
}

}  // namespace
}  // namespace surrogate::test
