// SPDX-License-Identifier: Apache-2.0
// One rank calls a run with something wrong: it gets its own error, the others finish with NaN and
// NOT_FINITE, nobody waits, and the next correct run gives the same bits as before. With agree=true
// all get the error of the rank at fault.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/darcy_case.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {
namespace {

/// A plan with everything a run needs, on this rank's share.
struct Step {
    Step(const Context& context, const Model& model, const char* partition, const Options& options)
        : points(own_rows(partition, 60, MPI_COMM_WORLD)),
          domain(points.domain(context)),
          plan(model, domain, options),
          x(3 * points.ids.size()),
          y(points.ids.size()) {
        points.bind(plan);
        for (size_t i = 0; i < x.size(); ++i)
            x[i] = std::sin(static_cast<float>(3 * points.ids[i / 3]) + static_cast<float>(i % 3));
        in = {"x", matrix(x.data(), points.n(), 3)};
        out = {"y", matrix(y.data(), points.n(), 1)};
    }

    surrogate_status run() { return surrogate_plan_run(plan.get()); }
    surrogate_status run_network() {
        return surrogate_plan_run_network(plan.get(), 1, &in, 1, &out);
    }
    std::vector<double> results() const {
        std::vector<double> all = points.pressure;
        all.insert(all.end(), y.begin(), y.end());
        return all;
    }

    DarcyCase points;
    Domain domain;
    Plan plan;
    std::vector<float> x, y;
    surrogate_named_array in, out;
};

struct Fault {
    const char* name;
    surrogate_status status;              // of the culprit
    surrogate_status (*run)(Step&);       // with the fault in
    surrogate_status (*good_run)(Step&);  // as the other ranks call it
    bool needs_points = false;
};

surrogate_status run(Step& step) {
    return step.run();
}
surrogate_status run_network(Step& step) {
    return step.run_network();
}

surrogate_status without_input(Step& step) {
    surrogate_plan_unbind(step.plan.get());
    step.plan.bind_output("pressure", column(step.points.pressure.data(), step.points.n()));
    return step.run();
}

surrogate_status without_output(Step& step) {
    surrogate_plan_unbind(step.plan.get());
    step.plan.bind_input("mobility", column(step.points.mobility.data(), step.points.n()));
    return step.run();
}

surrogate_status with_nan(Step& step) {
    const double good = std::exchange(step.points.mobility.back(), NAN);
    const surrogate_status status = step.run();
    step.points.mobility.back() = good;
    return status;
}

surrogate_status in_name_only(Step& step) {
    return surrogate_plan_run_failed(step.plan.get(), SURROGATE_IO, "the mesh could not be read");
}

surrogate_status with_nan_in_network(Step& step) {
    const float good = std::exchange(step.x.back(), INFINITY);
    const surrogate_status status = step.run_network();
    step.x.back() = good;
    return status;
}

surrogate_status with_null_data(Step& step) {
    surrogate_named_array bad = step.in;
    bad.array.data = nullptr;
    return surrogate_plan_run_network(step.plan.get(), 1, &bad, 1, &step.out);
}

surrogate_status with_wrong_shape(Step& step) {
    surrogate_named_array bad = step.out;
    bad.array.shape[1] += 1;
    return surrogate_plan_run_network(step.plan.get(), 1, &step.in, 1, &bad);
}

surrogate_status with_missing_port(Step& step) {
    return surrogate_plan_run_network(step.plan.get(), 1, &step.in, 1, &step.in);
}

surrogate_status with_null_list(Step& step) {
    return surrogate_plan_run_network(step.plan.get(), 1, nullptr, 1, &step.out);
}

const Fault faults[] = {
    {"UnboundInput", SURROGATE_INVALID_ARGUMENT, without_input, run},
    {"UnboundOutput", SURROGATE_INVALID_ARGUMENT, without_output, run},
    {"NanInAPoint", SURROGATE_NOT_FINITE, with_nan, run, true},
    {"AdapterThatCannotRun", SURROGATE_IO, in_name_only, run},
    {"InfinityInAPointOfTheNetwork", SURROGATE_NOT_FINITE, with_nan_in_network, run_network, true},
    {"NullData", SURROGATE_INVALID_ARGUMENT, with_null_data, run_network, true},
    {"WrongShape", SURROGATE_SHAPE, with_wrong_shape, run_network},
    {"MissingPort", SURROGATE_UNKNOWN_NAME, with_missing_port, run_network},
    {"NullList", SURROGATE_INVALID_ARGUMENT, with_null_list, run_network},
};

void expect_nan(const std::vector<double>& values) {
    for (double value : values) EXPECT_TRUE(std::isnan(value));
}

struct Layout {
    const char *name, *partition, *reproducible;
    bool agrees = false;
    Options options() const {
        return {{"reproducible", reproducible}, {"agree", agrees ? "true" : "false"}};
    }
};

class FaultsRun : public testing::TestWithParam<Layout> {
protected:
    void expect_to_poison_one_run(const Fault& fault, int culprit) {
        const bool is_culprit = context.rank() == culprit;
        const Answer found = answer(is_culprit ? fault.run(step) : fault.good_run(step));
        if (GetParam().agrees) {
            EXPECT_EQ(found.status, fault.status) << found;
            EXPECT_EQ(found.text.find("rank " + std::to_string(culprit) + ": "), 0u) << found;
            EXPECT_FALSE(found.says("from another rank")) << found;
            EXPECT_EQ(answer_of_rank_0(found, MPI_COMM_WORLD), found);
        } else {
            EXPECT_EQ(found.status, is_culprit ? fault.status : SURROGATE_NOT_FINITE) << found;
        }
        if (!is_culprit && fault.good_run == run) expect_nan(step.points.pressure);
        if (!is_culprit && fault.good_run == run_network)
            expect_nan({step.y.begin(), step.y.end()});

        step.points.bind(step.plan);
        EXPECT_EQ(step.run(), SURROGATE_SUCCESS);
        EXPECT_EQ(step.run_network(), SURROGATE_SUCCESS);
        EXPECT_EQ(step.results(), expected);
    }

    Context context = mpi_context(MPI_COMM_WORLD);
    Model model{context, darcy_model};
    Step step{context, model, GetParam().partition, GetParam().options()};
    std::vector<double> expected;
};

TEST_P(FaultsRun, OfOneRankPoisonThisRunOnly) {
    EXPECT_EQ(step.run(), SURROGATE_SUCCESS);
    EXPECT_EQ(step.run_network(), SURROGATE_SUCCESS);
    expected = step.results();
    for (const Fault& fault : faults) {
        for (int culprit = 0; culprit < context.size(); ++culprit) {
            SCOPED_TRACE(std::string(fault.name) + " on rank " + std::to_string(culprit));
            int has_points = step.points.n() > 0;
            MPI_Bcast(&has_points, 1, MPI_INT, culprit, MPI_COMM_WORLD);
            if (has_points || !fault.needs_points) expect_to_poison_one_run(fault, culprit);
        }
    }
}

// "uneven" leaves rank 0 without points.
INSTANTIATE_TEST_SUITE_P(Layouts, FaultsRun,
                         testing::Values(Layout{"ScatteredFast", "scattered", "false"},
                                         Layout{"ScatteredReproducible", "scattered", "true"},
                                         Layout{"UnevenFast", "uneven", "false"},
                                         Layout{"UnevenReproducible", "uneven", "true"},
                                         Layout{"ScatteredFastAgreed", "scattered", "false", true},
                                         Layout{"UnevenReproducibleAgreed", "uneven", "true",
                                                true}),
                         [](const auto& layout) { return std::string(layout.param.name); });

TEST(FaultsRunAgreed, TrafficIsThatOfThePublishedFormulas) {
    const Context context = mpi_context(MPI_COMM_WORLD);
    const Model model(context, darcy_model);
    const auto traffic = [&](const char* agree) {
        Step step(context, model, "scattered", {{"agree", agree}});
        EXPECT_EQ(step.run(), SURROGATE_SUCCESS);
        return std::pair(step.plan.counter("bytes_sent"), step.plan.counter("collectives"));
    };
    EXPECT_EQ(traffic("true"), traffic("false"));
}

TEST(FaultsRunAgreed, RanksMustAskForItAlike) {
    const Context context = mpi_context(MPI_COMM_WORLD);
    const Model model(context, darcy_model);
    const DarcyCase points(own_rows("scattered", 60, MPI_COMM_WORLD));
    const Domain domain = points.domain(context);
    const Options options{{"agree", context.rank() == 0 ? "true" : "false"}};
    surrogate_plan* plan = nullptr;
    const Answer refused =
        answer(surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan));
    EXPECT_EQ(refused.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(refused.says("agree")) << refused;
}

TEST(FaultsRunUnchecked, OthersGetNanAndSuccess) {
    const Context context = mpi_context(MPI_COMM_WORLD);
    const Model model(context, darcy_model);
    Step step(context, model, "contiguous", {{"check_finite", "false"}});
    const bool is_culprit = context.rank() == 0;
    EXPECT_EQ(is_culprit ? without_input(step) : step.run(),
              is_culprit ? SURROGATE_INVALID_ARGUMENT : SURROGATE_SUCCESS);
    if (!is_culprit) expect_nan(step.points.pressure);
}

}  // namespace
}  // namespace surrogate::test
