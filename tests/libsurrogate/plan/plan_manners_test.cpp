// SPDX-License-Identifier: Apache-2.0
// Values that are rejected, in a host that traps invalid floating-point operations.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {
namespace {

struct MannersRun {
    const char *backend, *reproducible, *threads;
    Options options() const {
        return {{"backend", backend}, {"reproducible", reproducible}, {"threads", threads}};
    }
};

class PlanManners : public testing::TestWithParam<MannersRun> {};

TEST_P(PlanManners, RefusedValuesRaiseNoTrap) {
    const Context context;
    const Model model(context, darcy_model);
    DarcyCase points(first_rows(130));
    points.x[0] = std::numeric_limits<double>::max();  // too large once divided by the card's std
    const Domain far = points.domain(context);
    points.x[0] = 0;
    const Domain domain = points.domain(context);
    for (double bad : {std::numeric_limits<double>::quiet_NaN(),
                       std::numeric_limits<double>::infinity(), 1e300, 0.0}) {
        Plan plan(model, bad == 0.0 ? far : domain, GetParam().options());
        points.bind(plan);
        points.mobility[50] = bad;
        Answer refused;
        {
            const TrapGuard guard;
            refused.status = surrogate_plan_run(plan.get());
        }
        EXPECT_EQ(refused.status, SURROGATE_NOT_FINITE) << bad;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, PlanManners,
    testing::Values(MannersRun{"simd", "false", "1"}, MannersRun{"simd", "true", "1"},
                    MannersRun{"simd", "false", "2"}, MannersRun{"simd", "true", "2"},
                    MannersRun{"ref", "false", "1"}, MannersRun{"ref", "true", "2"}),
    [](const auto& way) {
        return std::string(way.param.backend) +
               (way.param.reproducible == std::string("true") ? "_reproducible_" : "_fast_") +
               way.param.threads;
    });

}  // namespace
}  // namespace surrogate::test
