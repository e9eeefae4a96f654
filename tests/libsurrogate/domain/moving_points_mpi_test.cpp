// SPDX-License-Identifier: Apache-2.0
// Points that move, are added, are removed and change their ranks: predictions of a plan that
// follows them are bitwise identical to a new plan's, and it does not allocate while its buffers
// suffice.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/darcy_case.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/small_darcy_model.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// The points of the rows, all of them pushed along x.
DarcyCase pushed(std::vector<int64_t> rows, double by) {
    DarcyCase points(std::move(rows));
    for (size_t i = 0; i < points.x.size(); i += 2) points.x[i] = std::fmod(points.x[i] + by, 1.0);
    return points;
}

surrogate_status move(const Domain& domain, const surrogate_points& points) {
    return surrogate_domain_update_points(domain.get(), &points);
}

/// Returns the result, which is the same on all ranks.
Answer same_answer(surrogate_status status) {
    const Answer found = answer(status);
    EXPECT_EQ(found, answer_of_rank_0(found, world));
    EXPECT_TRUE(ranks_still_talk(world));
    return found;
}

struct Way {
    const char *name, *backend, *precision, *reproducible, *threads;
    Options options() const {
        return {{"backend", backend},
                {"precision", precision},
                {"reproducible", reproducible},
                {"threads", threads}};
    }
};

class MovingPoints : public testing::TestWithParam<Way> {
protected:
    void expect_as_anew(DarcyCase points) {
        const std::vector<double> anew = predict(model, context, points, options);
        points.bind(plan);
        plan.run();
        EXPECT_EQ(points.pressure, anew);
        EXPECT_EQ(domain.n_local(), points.n());
    }

    const Options options = GetParam().options();
    const Context context = mpi_context(world);
    const Model model{context, small_darcy_model()};
    DarcyCase first{own_rows("contiguous", 150, world)};
    Domain domain = first.domain(context);
    Plan plan{model, domain, options};
};

TEST_P(MovingPoints, ArePredictedAsByAPlanMadeAnew) {
    struct Move {
        const char* partition;
        int64_t n;
    };
    expect_as_anew(first);
    double by = 0;
    for (const Move& to : std::vector<Move>{{"contiguous", 150},  // the same points elsewhere
                                            {"uneven", 150},      // rank 0 has none
                                            {"scattered", 150},   // all change their rank
                                            {"contiguous", 3},
                                            {"scattered", 700},  // more than ever
                                            {"uneven", 65},
                                            {"contiguous", 0},  // none at all
                                            {"contiguous", 129},
                                            {"uneven", 700}}) {
        SCOPED_TRACE(std::string(to.partition) + " " + std::to_string(to.n));
        const DarcyCase points = pushed(own_rows(to.partition, to.n, world), by += 0.125);
        domain.update_points(points.points());
        EXPECT_EQ(domain.n_global(), to.n);
        expect_as_anew(points);
    }
}

TEST_P(MovingPoints, MayMoveTwiceBetweenRunsAndServeSeveralPlans) {
    Plan other(model, domain, {{"backend", "ref"}, {"agree", "true"}});
    const DarcyCase far = pushed(own_rows("scattered", 400, world), 0.25),
                    last = pushed(own_rows("uneven", 90, world), 0.5);
    domain.update_points(far.points());
    domain.update_points(last.points());
    expect_as_anew(last);
    DarcyCase by_other = last;
    by_other.bind(other);
    other.run();
    EXPECT_LE(relative_difference(by_other.pressure, predict(model, context, last)),
              order_tolerance);
}

TEST_P(MovingPoints, KeepBindingsWhileTheirNumberStays) {
    const DarcyCase points = pushed(first.ids, 0.375);
    first.bind(plan);
    domain.update_points(points.points());
    plan.run();
    EXPECT_EQ(first.pressure, predict(model, context, points, options));
}

TEST_P(MovingPoints, WantArraysOfTheirNumberBoundAgain) {
    first.bind(plan);
    // The last rank has one more point; the others keep theirs.
    const bool is_last = context.rank() == context.size() - 1;
    std::vector<int64_t> rows = first.ids;
    if (is_last) rows.push_back(150);
    DarcyCase points(rows);
    domain.update_points(points.points());
    const Answer refused = answer(surrogate_plan_run(plan.get()));
    EXPECT_EQ(refused.status, is_last ? SURROGATE_SHAPE : SURROGATE_NOT_FINITE) << refused;
    if (is_last) {
        EXPECT_TRUE(refused.says("input 'mobility' is bound to an array of " +
                                 std::to_string(rows.size() - 1) + " points") &&
                    refused.says("domain has " + std::to_string(rows.size()) + "; bind it again"))
            << refused;
        plan.bind_input("mobility", column(points.mobility.data(), points.n()));
        EXPECT_TRUE(answer(surrogate_plan_run(plan.get())).says("output 'pressure' is bound to"));
    } else {
        EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_NOT_FINITE);
    }
    expect_as_anew(points);
}

TEST_P(MovingPoints, CountAnewOutsideOfTheRange) {
    first.bind(plan);
    plan.run();
    EXPECT_EQ(plan.range(0).n_outside, 0);
    DarcyCase outside = first;
    for (size_t i = 0; i < outside.x.size(); i += 2) outside.x[i] += 2;
    domain.update_points(outside.points());
    EXPECT_EQ(plan.range(0).n_outside, 0) << "the plan has not followed yet";
    plan.run();
    EXPECT_EQ(plan.range(0).n_outside, first.n());
    EXPECT_GE(plan.range(0).worst, 2);
    EXPECT_NE(plan.describe().find("150 of 150 points outside"), std::string::npos);
    domain.update_points(first.points());
    plan.run();
    EXPECT_EQ(plan.range(0).n_outside, 0);
}

TEST_P(MovingPoints, NetworksFollowToo) {
    const DarcyCase points = pushed(own_rows("uneven", 40, world), 0.5);
    domain.update_points(points.points());
    Plan anew(model, domain, options);
    std::vector<float> x(2 * points.ids.size()), y(points.ids.size()), expected(y);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(points.x[i]);
    const surrogate_named_array in{"x", matrix(x.data(), points.n(), 2)};
    plan.run_network({in}, {{"y", matrix(y.data(), points.n(), 1)}});
    anew.run_network({in}, {{"y", matrix(expected.data(), points.n(), 1)}});
    EXPECT_EQ(y, expected);
}

TEST_P(MovingPoints, AFailedRunFollowsWithTheOthers) {
    const DarcyCase points = pushed(own_rows("scattered", 90, world), 0.5);
    domain.update_points(points.points());
    const Answer found =
        answer(surrogate_plan_run_with_error(plan.get(), SURROGATE_IO, "a file of the host's own"));
    EXPECT_EQ(found.status, SURROGATE_IO);
    expect_as_anew(points);
}

INSTANTIATE_TEST_SUITE_P(Ways, MovingPoints,
                         testing::Values(Way{"Fast", "simd", "fp32", "false", "1"},
                                         Way{"FastThreads", "simd", "fp32", "false", "3"},
                                         Way{"Reproducible", "simd", "fp32", "true", "2"},
                                         Way{"Double", "ref", "fp64", "false", "1"},
                                         Way{"DoubleReproducible", "ref", "fp64", "true", "1"}),
                         [](const auto& way) { return std::string(way.param.name); });

class Moves : public testing::Test {
protected:
    bool is(int rank) const { return context.rank() == rank; }
    const Context context = mpi_context(world);
    const Model model{context, small_darcy_model()};
    DarcyCase before{own_rows("contiguous", 60, world)};
    const Options exact{{"reproducible", "true"}};
};

TEST_F(Moves, TakeNoMemoryForWhatThereWasRoomFor) {
    for (const char* threads : {"1", "2"}) {
        Domain domain = before.domain(context);
        Plan plan(model, domain, {{"threads", threads}});
        const DarcyCase all = pushed(own_rows("contiguous", 600, world), 0.25);
        domain.update_points(all.points());
        EXPECT_NE(surrogate_plan_run(plan.get()), SURROGATE_SUCCESS);  // nothing is bound
        for (const char* partition : {"contiguous", "scattered", "contiguous"}) {
            DarcyCase points = pushed(own_rows(partition, 590, world), 0.5);
            const surrogate_points to = points.points();
            MPI_Barrier(world);
            MemoryMeter of_move;
            const surrogate_status moved = surrogate_domain_update_points(domain.get(), &to);
            EXPECT_EQ(of_move.n_allocation(), 0);
            EXPECT_EQ(moved, SURROGATE_SUCCESS);
            points.bind(plan);
            MemoryMeter of_run;
            const surrogate_status ran = surrogate_plan_run(plan.get());
            EXPECT_EQ(of_run.n_allocation(), 0);
            EXPECT_EQ(ran, SURROGATE_SUCCESS);
            EXPECT_EQ(points.pressure, predict(model, context, points, {{"threads", threads}}));
        }
    }
}

TEST_F(Moves, ThatFailLeaveTheDomainAsItWas) {
    Domain domain = before.domain(context);
    Plan plan(model, domain, exact);
    before.bind(plan);
    plan.run();
    const std::vector<double> expected = before.pressure;
    DarcyCase more = pushed(own_rows("uneven", 500, world), 0.5);
    const auto expect_refused = [&](const surrogate_points* points, surrogate_status status,
                                    const char* text) {
        const Answer found = same_answer(surrogate_domain_update_points(domain.get(), points));
        EXPECT_EQ(found.status, status) << found;
        EXPECT_TRUE(found.says(text)) << found;
        EXPECT_EQ(domain.n_local(), before.n());
        EXPECT_EQ(domain.n_global(), 60);
        before.pressure.assign(before.ids.size(), -1);
        plan.run();
        EXPECT_EQ(before.pressure, expected);
    };
    for (int culprit = 0; culprit < context.size(); ++culprit) {
        int64_t n_culprit = more.n();  // rank 0 may have none, and nothing wrong with them
        MPI_Bcast(&n_culprit, 1, MPI_INT64_T, culprit, world);
        const surrogate_points good = more.points();
        expect_refused(is(culprit) ? nullptr : &good, SURROGATE_INVALID_ARGUMENT, "'points'");
        if (n_culprit == 0) continue;
        surrogate_points bad = good;
        bad.x.dtype = is(culprit) ? SURROGATE_INT32 : bad.x.dtype;
        expect_refused(&bad, SURROGATE_INVALID_ARGUMENT, "dtype");
        const double kept = is(culprit) ? std::exchange(more.x[7], NAN) : 0;
        expect_refused(&good, SURROGATE_NOT_FINITE, "coordinate 1 of local point 3");
        if (is(culprit)) more.x[7] = kept;
    }
    surrogate_points line = more.points(), nameless = more.points(), heavy = more.points();
    line.x = matrix(more.x.data(), more.n(), 1);
    expect_refused(&line, SURROGATE_SHAPE, "had 2 coordinates before they moved, now they have 1");
    nameless.global_id = nullptr;
    expect_refused(&nameless, SURROGATE_INVALID_ARGUMENT, "had global ids before they moved");
    const std::vector<double> weights(more.ids.size(), 1);
    heavy.weight = weights.data();
    expect_refused(&heavy, SURROGATE_INVALID_ARGUMENT, "had no weights before they moved");
    EXPECT_EQ(surrogate_domain_update_points(nullptr, &heavy), SURROGATE_INVALID_ARGUMENT);
}

TEST_F(Moves, ToOtherNumbersOfCloudsGiveThePlanMadeAgain) {
    std::vector<int64_t> clouds(before.ids.size(), 0);
    surrogate_points points = before.points();
    points.cloud = clouds.data();
    for (const char* gradients : {"false", "true"}) {
        const Options options{{"reproducible", "true"}, {"gradients", gradients}};
        Domain domain(context, points);
        Plan plan(model, domain, options);
        before.bind(plan);
        plan.run();
        for (const int64_t n_cloud : {2, 1, 3}) {
            for (size_t i = 0; i < clouds.size(); ++i) clouds[i] = before.ids[i] % n_cloud;
            ASSERT_EQ(move(domain, points), SURROGATE_SUCCESS);
            EXPECT_EQ(domain.n_clouds(), n_cloud);
            plan.run();
            const std::vector<double> moved = before.pressure;
            const Domain again(context, points);
            Plan made(model, again, options);
            before.bind(made);
            made.run();
            EXPECT_EQ(moved, before.pressure) << n_cloud << gradients;
        }
        clouds.assign(clouds.size(), 0);
    }
}

TEST_F(Moves, ToWhereAPlanCannotBeAreErrorsOfItsNextRun) {
    surrogate_points points = before.points();
    Domain domain(context, points);
    Plan plan(model, domain, exact);
    before.bind(plan);
    plan.run();
    const std::vector<double> expected = before.pressure;

    std::vector<int64_t> ids = before.ids;
    if (context.rank() == context.size() - 1) ids.back() = 0;
    points.global_id = ids.data();
    ASSERT_EQ(move(domain, points), SURROGATE_SUCCESS);
    const Answer equal = same_answer(surrogate_plan_run(plan.get()));
    EXPECT_EQ(equal.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(equal.says("the same global id 0")) << equal;
    EXPECT_FALSE(plan.describe().empty());

    ids = before.ids;
    ASSERT_EQ(move(domain, points), SURROGATE_SUCCESS);
    plan.run();
    EXPECT_EQ(before.pressure, expected);
}

TEST_F(Moves, BringTheFirstPointsOfADomainWithout) {
    Domain domain(context,
                  surrogate_points{matrix(before.x.data(), 0, 0), nullptr, nullptr, nullptr});
    Plan plan(model, domain, exact);
    DarcyCase none(first_rows(0));
    none.bind(plan);
    plan.run();
    domain.update_points(before.points());
    EXPECT_EQ(domain.points().x.shape[1], 2);
    before.bind(plan);
    plan.run();
    EXPECT_EQ(before.pressure, predict(model, context, before, exact));
}

TEST_F(Moves, KeepWhatTheyAreGiven) {
    const std::vector<double> weights(before.ids.size(), 0.5);
    surrogate_points points = before.points();
    points.weight = weights.data();
    Domain domain(context, points);
    const DarcyCase after = pushed(own_rows("scattered", 200, world), 0.5);
    const std::vector<double> other(after.ids.size(), 0.25);
    points = after.points();
    points.weight = other.data();
    domain.update_points(points);
    const surrogate_points kept = domain.points();
    ASSERT_EQ(kept.x.shape[0], after.n());
    for (int64_t i = 0; i < after.n(); ++i) {
        const auto* x = static_cast<const double*>(kept.x.data) + i;
        EXPECT_EQ(x[0], after.x[static_cast<size_t>(2 * i)]);
        EXPECT_EQ(x[kept.x.stride[1]], after.x[static_cast<size_t>(2 * i + 1)]);
        EXPECT_EQ(kept.global_id[i], after.ids[static_cast<size_t>(i)]);
        EXPECT_EQ(kept.weight[i], 0.25);
    }
    EXPECT_EQ(kept.cloud, nullptr);
}

TEST_F(Moves, OfGridsAreRefused) {
    surrogate_sphere sphere{};
    sphere.grid = "equiangular";
    sphere.n_lat = 5;
    sphere.n_lon = sphere.n_lon_local = 8;
    sphere.n_lat_local = is(0) ? 5 : 0;
    const Domain grid(context, sphere);
    const Answer found = answer(move(grid, before.points()));
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(found.says("grid on the sphere")) << found;
}

}  // namespace
}  // namespace surrogate::test
