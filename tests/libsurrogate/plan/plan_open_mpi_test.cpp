// SPDX-License-Identifier: Apache-2.0
// A plan in one call, on one rank and on all: the same predictions as step by step, and nothing
// left after a failure.
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/darcy_case.hpp"
#include "tests/support/model_parts.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/small_darcy_model.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

class PlanOpen : public testing::Test {
protected:
    std::vector<double> run(Plan plan) {
        DarcyCase fields = points;
        fields.bind(plan);
        plan.run();
        return fields.pressure;
    }
    Answer open(const char* path, const surrogate_points* at, surrogate_plan** plan) {
        const Answer found = answer(surrogate_plan_open_mpi(world, path, at, nullptr, plan));
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_TRUE(ranks_still_talk(world));
        return found;
    }

    DarcyCase points{own_rows("uneven", 90, world)};
    const surrogate_points where = points.points();
    const Options exact{{"reproducible", "true"}};
};

TEST_F(PlanOpen, GivesThePlanOfFourCalls) {
    const Context context = mpi_context(world);
    const Model model(context, darcy_model);
    EXPECT_EQ(run(mpi_plan(world, darcy_model, where, exact)),
              predict(model, context, points, exact));
}

TEST_F(PlanOpen, TakesACommunicatorOfFortran) {
    surrogate_plan* plan = nullptr;
    ASSERT_EQ(
        surrogate_plan_open_fint(MPI_Comm_c2f(world), darcy_model, &where, exact.get(), &plan),
        SURROGATE_SUCCESS);
    EXPECT_EQ(run(Plan(plan)), run(mpi_plan(world, darcy_model, where, exact)));
}

TEST_F(PlanOpen, WithoutACommunicatorIsOfOneRank) {
    const std::vector<double> alone = run(Plan(darcy_model, where));
    EXPECT_EQ(run(mpi_plan(MPI_COMM_NULL, darcy_model, where)), alone);
    surrogate_plan* handle = nullptr;
    ASSERT_EQ(surrogate_plan_open_fint(MPI_Comm_c2f(MPI_COMM_NULL), darcy_model, &where, nullptr,
                                       &handle),
              SURROGATE_SUCCESS);
    const Plan plan(handle);
    EXPECT_EQ(plan.context().size(), 1);
    EXPECT_EQ(mpi_comm(plan.context()), MPI_COMM_NULL);
}

TEST_F(PlanOpen, OptionsAreThoseOfTheContextToo) {
    const Plan plan = mpi_plan(world, darcy_model, where, {{"threads", "1"}, {"agree", "true"}});
    EXPECT_EQ(plan.option("agree"), "true");
    const Model model = plan.model();
    EXPECT_EQ(Plan(model, plan.input_domain()).option("agree"), "true");
}

TEST_F(PlanOpen, FailsOnAllRanksAndLeavesNothing) {
    const auto expect_refused = [&](const char* path, const surrogate_points* at,
                                    surrogate_status status) {
        auto* plan = reinterpret_cast<surrogate_plan*>(&points);
        const Answer found = open(path, at, &plan);
        EXPECT_EQ(found.status, status) << found;
        EXPECT_EQ(plan, nullptr);
    };
    const bool is_last = rank_of(world) == size_of(world) - 1;
    surrogate_points line = where;
    line.x = matrix(points.x.data(), points.n(), 1);
    expect_refused("no/such/model", &where, SURROGATE_IO);
    expect_refused(nullptr, &where, SURROGATE_INVALID_ARGUMENT);
    expect_refused(darcy_model, is_last ? nullptr : &where, SURROGATE_INVALID_ARGUMENT);
    expect_refused(darcy_model, &line, SURROGATE_SHAPE);
    surrogate_plan* plan = nullptr;
    EXPECT_EQ(open(darcy_model, &where, is_last ? nullptr : &plan).status,
              SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(plan, nullptr);
}

TEST_F(PlanOpen, RanksWithDifferentModelsAreRefusedWithBothHashes) {
    if (size_of(world) == 1) GTEST_SKIP() << "one rank agrees with itself";
    const Context context = mpi_context(world);
    const Model model(context, small_darcy_model());
    ModelParts<float> parts(small_darcy_model());
    parts.card["outputs"][0]["mean"] = 0.02;  // 0.01 in the model above
    const Model other(context, parts.card.dump(), parts.tensors());
    const Domain domain(context, where);
    const auto create = [&](const Model& own) {
        surrogate_plan* plan = nullptr;
        const Answer found =
            answer(surrogate_plan_create(own.get(), domain.get(), nullptr, nullptr, &plan));
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_TRUE(ranks_still_talk(world));
        surrogate_plan_destroy(&plan);
        return found;
    };
    for (int culprit = 0; culprit < size_of(world); ++culprit) {
        const Answer found = create(rank_of(world) == culprit ? other : model);
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
        for (const Model* each : {&model, &other}) {
            char digits[20];
            std::snprintf(digits, sizeof digits, "%016" PRIx64, each->hash());
            EXPECT_TRUE(found.says(std::string("'flare' with hash ") + digits)) << found;
        }
    }
    EXPECT_EQ(create(model).status, SURROGATE_SUCCESS);
    EXPECT_EQ(create(other).status, SURROGATE_SUCCESS);
}

TEST_F(PlanOpen, RanksWithDifferentDomainsAreRefused) {
    if (size_of(world) == 1) GTEST_SKIP() << "one rank agrees with itself";
    const Context context = mpi_context(world);
    const Model model(context, small_darcy_model());
    const DarcyCase fewer{own_rows("uneven", 80, world)};
    const Domain domain(context, where), other(context, fewer.points());
    const Domain& own = rank_of(world) == 1 ? other : domain;
    for (const bool is_output : {false, true}) {
        surrogate_plan* plan = nullptr;
        const Answer found =
            answer(surrogate_plan_create(model.get(), is_output ? domain.get() : own.get(),
                                         is_output ? own.get() : domain.get(), nullptr, &plan));
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
        EXPECT_TRUE(found.says(is_output ? "output domains of 80 .. 90 points"
                                         : "input domains of 80 .. 90 points"))
            << found;
    }
}

TEST_F(PlanOpen, AloneSaysWhatIsWrong) {
    surrogate_plan* plan = nullptr;
    EXPECT_EQ(surrogate_plan_open("no/such/model", &where, nullptr, &plan), SURROGATE_IO);
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(surrogate_plan_open(darcy_model, &where, nullptr, nullptr),
              SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(surrogate_plan_open(darcy_model, nullptr, nullptr, &plan),
              SURROGATE_INVALID_ARGUMENT);
}

TEST_F(PlanOpen, CommunicatorOfAContextIsItsOwn) {
    const Context context = mpi_context(world);
    const MPI_Comm comm = mpi_comm(context);
    int relation = MPI_UNEQUAL;
    MPI_Comm_compare(comm, world, &relation);
    EXPECT_EQ(relation, MPI_CONGRUENT);
    int code = MPI_Send(nullptr, 0, MPI_INT, size_of(comm), 0, comm);  // no such rank
    EXPECT_NE(code, MPI_SUCCESS);
    MPI_Comm none = world;
    EXPECT_EQ(surrogate_context_comm(nullptr, &none), SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(none, MPI_COMM_NULL);
    EXPECT_EQ(surrogate_context_comm(context.get(), nullptr), SURROGATE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace surrogate::test
