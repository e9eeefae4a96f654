// SPDX-License-Identifier: Apache-2.0
// Values outside the range of the training data with backend cuda: counted wherever they lie, and
// compared with what a trainer has widened.
#include <algorithm>
#include <cmath>
#include <surrogate/surrogate_train.hpp>

#include "tests/support/darcy_case.hpp"
#include "tests/support/device_case.hpp"

namespace surrogate::test {
namespace {

const Options on_device{{"backend", "cuda"}};
constexpr int32_t range_input = 1;  // of the small model's card

class DeviceRanges : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(On, DeviceRanges, testing::Values(emulated_kind, real_kind),
                         name_of_device);

TEST_P(DeviceRanges, ValuesOutsideTheRangeAreCountedWhereverTheyLie) {
    const Model model(*context, small_darcy_model());
    DarcyCase points(first_rows(70));
    const Domain domain = points.domain(*context);
    for (const char* reproducible : {"false", "true"}) {
        Plan plan(model, domain, {{"backend", "cuda"}, {"reproducible", reproducible}});
        const auto run = [&](const surrogate_array& mobility) {
            points.bind(plan);
            plan.bind_input("mobility", mobility);
            EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_SUCCESS);
            return plan.range(range_input);
        };
        DarcyCase wrong = points;
        EXPECT_EQ(run(column(wrong.mobility.data(), 70)).n_outside, 0);
        for (const double farthest : {-1e6, 1e6}) {
            wrong.mobility = points.mobility;
            wrong.mobility[1] = 2.5;
            for (size_t i = 33; i < 50; ++i) wrong.mobility[i] = 13;
            wrong.mobility[69] = farthest;
            const DeviceArray<double> there(*device, wrong.mobility);
            std::vector<float> rows(3 * 70, -7);  // the field in the middle of three
            for (size_t i = 0; i < 70; ++i) rows[3 * i + 1] = static_cast<float>(wrong.mobility[i]);
            const DeviceArray<float> in_rows(*device, rows);
            for (const surrogate_array& mobility :
                 {column(wrong.mobility.data(), 70), there.column(70), in_rows.column(70, 1, 3)}) {
                const surrogate_range_info found = run(mobility);
                EXPECT_EQ(found.n_outside, 19) << reproducible << mobility.space;
                EXPECT_EQ(found.worst, farthest) << reproducible << mobility.space;
            }
        }
        EXPECT_EQ(run(column(points.mobility.data(), 70)).n_outside, 0);
    }
}

TEST_P(DeviceRanges, AllValuesOutsideAreCounted) {
    const Model model(*context, small_darcy_model());
    DarcyCase points(first_rows(333));
    for (double& value : points.mobility) value += 100;
    const Domain domain = points.domain(*context);
    Plan plan(model, domain, on_device);
    points.bind(plan);
    const DeviceArray<double> there(*device, points.mobility);
    plan.bind_input("mobility", there.column(333));
    plan.run();
    EXPECT_EQ(plan.range(range_input).n_outside, 333);
    EXPECT_EQ(plan.range(range_input).worst, std::ranges::max(points.mobility));
    EXPECT_EQ(plan.counter("outside_range"), 333);
}

TEST_P(DeviceRanges, NanIsNotOutside) {
    const Model model(*context, small_darcy_model());
    DarcyCase points(first_rows(40));
    points.mobility[3] = NAN;
    points.mobility[4] = INFINITY;
    points.mobility[5] = 99;
    const Domain domain = points.domain(*context);
    Plan plan(model, domain, on_device);
    points.bind(plan);
    const DeviceArray<double> there(*device, points.mobility);
    plan.bind_input("mobility", there.column(40));
    EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_NOT_FINITE);
    EXPECT_EQ(plan.range(range_input).n_outside, 1);
    EXPECT_EQ(plan.range(range_input).worst, 99);
}

/// A trainer on the host widens the ranges: the next run compares with them, wherever values lie,
/// and tells the farthest of both sides.
TEST_P(DeviceRanges, RangesThatATrainerWidensReachTheNextRun) {
    const Model model(*context, small_darcy_model());
    DarcyCase points(first_rows(70));
    const Domain domain = points.domain(*context);
    for (const char* reproducible : {"false", "true"}) {
        Plan plan(model, domain, {{"backend", "cuda"}, {"reproducible", reproducible}});
        Plan learning(model, domain, {{"backend", "simd"}, {"gradients", "true"}});
        const double beyond = std::string(reproducible) == "true" ? 200 : 100;
        const auto found_of = [&](double low, double high) {
            DarcyCase wrong = points;
            wrong.mobility[1] = low;
            wrong.mobility[69] = high;
            wrong.bind(plan);
            const DeviceArray<double> there(*device, wrong.mobility);
            plan.bind_input("mobility", there.column(70));
            plan.run();
            const surrogate_range_info found = plan.range(range_input);
            plan.bind_input("mobility", column(wrong.mobility.data(), 70));
            plan.run();
            EXPECT_EQ(plan.range(range_input).n_outside, found.n_outside) << reproducible;
            EXPECT_EQ(plan.range(range_input).worst, found.worst) << reproducible;
            return found;
        };
        EXPECT_EQ(found_of(1, beyond).n_outside, 2) << reproducible;
        EXPECT_EQ(found_of(1, beyond).worst, beyond) << reproducible;
        DarcyCase learnt = points;
        learnt.mobility[5] = beyond;
        learnt.bind(learning);
        Trainer trainer(learning);
        trainer.bind_target("pressure", column(points.pressure.data(), 70));
        std::ranges::fill(points.pressure, 1e-3);
        trainer.step();
        EXPECT_GE(trainer.widen_ranges(), 1) << reproducible;
        EXPECT_EQ(found_of(3, beyond).n_outside, 0) << reproducible;
        // 3 .. beyond: 1 lies farther outside than beyond + 1, but not from the earlier range.
        EXPECT_EQ(found_of(1, beyond + 1).n_outside, 2) << reproducible;
        EXPECT_EQ(found_of(1, beyond + 1).worst, 1) << reproducible;
    }
}

}  // namespace
}  // namespace surrogate::test
