// SPDX-License-Identifier: Apache-2.0
// FLARE on several clouds: each has the results of a plan of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/cloud_plans.hpp"
#include "tests/support/data_path.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/plan_traffic.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// Clouds without points, of one point, of one chunk (1,024 points), and of several.
const std::vector<int64_t> sizes = {64, 0, 1, 200, 0, 1025, 20, 3100, 65, 1, 128, 1024, 7};

std::vector<int64_t> own_rows_of(const Clouds& clouds, const char* partition) {
    return own_rows(partition, clouds.n(), world);
}

struct CloudMode {
    const char* name;
    std::vector<std::pair<std::string, std::string>> list;
    double tolerance;

    Options options() const {
        Options made;
        for (const auto& [key, value] : list) made.set(key, value);
        return made;
    }
};

const CloudMode modes[] = {
    {"Fast", {{"threads", "1"}}, 2e-5},
    {"FastOnThreeThreads", {{"threads", "3"}}, 2e-5},
    {"Double", {{"precision", "fp64"}, {"threads", "2"}}, 1e-11},
    {"Reproducible", {{"reproducible", "true"}, {"threads", "2"}}, 0},
    {"ReproducibleDouble", {{"reproducible", "true"}, {"precision", "fp64"}}, 0},
    {"ReproducibleReference", {{"reproducible", "true"}, {"backend", "ref"}}, 0},
};

class FlareClouds : public testing::TestWithParam<CloudMode> {};

TEST_P(FlareClouds, HaveTheResultsOfPlansOfEachCloud) {
    Clouds clouds = Clouds::of_sizes(sizes);
    const std::string file = stored_case("flare/tiny");
    const Options options = GetParam().options();
    const CloudsAlone alone(file, clouds, options);
    for (const char* partition : {"contiguous", "scattered", "uneven"}) {
        SCOPED_TRACE(partition);
        expect_plans_of_each_cloud(file, clouds, own_rows_of(clouds, partition), options, alone,
                                   GetParam().tolerance, world);
    }
    clouds.has_ids = false;
    expect_plans_of_each_cloud(file, clouds, own_rows_of(clouds, "scattered"), options,
                               CloudsAlone(file, clouds, options), GetParam().tolerance, world);
}

INSTANTIATE_TEST_SUITE_P(Modes, FlareClouds, testing::ValuesIn(modes),
                         [](const auto& found) { return found.param.name; });

TEST(FlareCloudModels, HaveTheResultsOfPlansOfEachCloud) {
    const Clouds clouds = Clouds::of_sizes({40, 3, 0, 1100, 70});
    for (const char* name :
         {"tiny_options", "odd", "ablation_shared", "ablation_latent_blocks", "physicsnemo_time"}) {
        for (const char* reproducible : {"false", "true"}) {
            SCOPED_TRACE(std::string(name) + ", reproducible=" + reproducible);
            const std::string file = stored_case(std::string("flare/") + name);
            const Options options{{"reproducible", reproducible}, {"threads", "2"}};
            expect_plans_of_each_cloud(file, clouds, own_rows_of(clouds, "contiguous"), options,
                                       CloudsAlone(file, clouds, options),
                                       reproducible[0] == 't' ? 0 : 1e-4, world);
        }
    }
}

class FlareCloudPlans : public testing::Test {
protected:
    /// Results of a fresh plan.
    void expect_alone(const Clouds& clouds, const CloudRows& own, CloudRun& run,
                      const Options& options, double tolerance) const {
        expect_clouds_alone(CloudsAlone(file, clouds, options), clouds, own, run, tolerance);
    }

    const std::string file = stored_case("flare/tiny");
    const Context context = mpi_context(world);
    const Model model{context, file};
};

TEST_F(FlareCloudPlans, SendNothingIfEachCloudIsOnOneRank) {
    EXPECT_EQ(model.input_domain().keeps_clouds, 1);
    // Four clouds on each rank, two of them larger than a chunk.
    std::vector<int64_t> of_all_ranks;
    for (int rank = 0; rank < context.size(); ++rank)
        for (const int64_t n : {5, 1500, 2100, 60}) of_all_ranks.push_back(n);
    const Clouds clouds = Clouds::of_sizes(of_all_ranks);
    const CloudRows own(clouds, own_rows_of(clouds, "contiguous"));
    const Domain domain(context, own.points());
    Plan plan(model, domain);
    CloudRun run(model, own, clouds.n_cloud());
    ASSERT_EQ(run.run(plan), SURROGATE_SUCCESS);
    expect_alone(clouds, own, run, {}, 2e-5);
    EXPECT_EQ(traffic_of_run(plan), (Traffic{0, 0}));
    EXPECT_EQ(traffic_of_table(plan), (Traffic{0, 0})) << plan.describe();
    const std::string text = std::to_string(clouds.n_cloud()) + " clouds, 0 of them on several";
    EXPECT_NE(plan.describe().find(text), std::string::npos) << plan.describe();
}

TEST_F(FlareCloudPlans, SendTwoReductionsPerBlockForAllCloudsOnSeveralRanks) {
    const Clouds clouds = Clouds::of_sizes({300, 500, 400, 2600});
    const CloudRows own(clouds, own_rows_of(clouds, "scattered"));
    const Domain domain(context, own.points());
    for (const char* reproducible : {"false", "true"}) {
        Plan plan(model, domain, {{"reproducible", reproducible}});
        CloudRun run(model, own, clouds.n_cloud());
        ASSERT_EQ(run.run(plan), SURROGATE_SUCCESS);
        EXPECT_EQ(traffic_of_run(plan), traffic_of_table(plan)) << plan.describe();
        const int n_shared = context.size() == 1 ? 0 : reproducible[0] == 't' ? -1 : 4;
        if (n_shared < 0) continue;
        const std::string text = "4 clouds, " + std::to_string(n_shared) + " of them on several";
        EXPECT_NE(plan.describe().find(text), std::string::npos) << plan.describe();
    }
}

TEST_F(FlareCloudPlans, FollowPointsToOtherClouds) {
    for (const char* reproducible : {"false", "true"}) {
        const Options options{{"reproducible", reproducible}, {"threads", "2"}};
        const double tolerance = reproducible[0] == 't' ? 0 : 2e-5;
        CloudRows own(Clouds::of_sizes({100, 30}), own_rows("contiguous", 130, world));
        Domain domain(context, own.points());
        Plan plan(model, domain, options);
        for (const std::vector<int64_t>& moved :
             {std::vector<int64_t>{20, 0, 1500}, {70}, {0, 0, 3}, {2100, 2100}, {}, {64, 64, 64}}) {
            SCOPED_TRACE(moved.size());
            const Clouds clouds = Clouds::of_sizes(moved);
            own = CloudRows(clouds, own_rows_of(clouds, "scattered"));
            domain.update_points(own.points());
            CloudRun run(model, own, clouds.n_cloud());
            ASSERT_EQ(run.run(plan), SURROGATE_SUCCESS) << surrogate_error(nullptr);
            expect_alone(clouds, own, run, options, tolerance);
        }
    }
}

TEST_F(FlareCloudPlans, RunWithoutMemoryAndFloatingPointExceptions) {
    const Clouds clouds = Clouds::of_sizes(sizes);
    const CloudRows own(clouds, own_rows_of(clouds, "contiguous"));
    const Domain domain(context, own.points());
    for (const char* reproducible : {"false", "true"}) {
        Plan plan(model, domain, {{"reproducible", reproducible}, {"threads", "1"}});
        CloudRun run(model, own, clouds.n_cloud());
        const TrapGuard traps;
        const MemoryMeter meter;
        EXPECT_EQ(run.run(plan), SURROGATE_SUCCESS);
        EXPECT_EQ(meter.n_allocation(), 0);
    }
}

TEST_F(FlareCloudPlans, NameTheBadPointOfACloudOnAllRanks) {
    const Clouds clouds = Clouds::of_sizes({300, 10, 2000});
    const CloudRows own(clouds, own_rows_of(clouds, "scattered"));
    const Domain domain(context, own.points());
    const auto bad = std::ranges::find(own.rows(), 305);
    for (const char* reproducible : {"false", "true"}) {
        const Options options{{"agree", "true"}, {"reproducible", reproducible}};
        Plan plan(model, domain, options);
        CloudRun run(model, own, clouds.n_cloud());
        const size_t port = run.first_input();
        const int64_t place = bad - own.rows().begin();
        const double kept = bad == own.rows().end() ? 0 : run.at(port, place, 0);
        if (bad != own.rows().end()) run.at(port, place, 0) = NAN;
        const Answer found = answer(run.run(plan));
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
        EXPECT_TRUE(found.says("is nan at point with id 305")) << found;
        EXPECT_TRUE(found == answer_of_rank_0(found, world));
        for (int64_t i = 0; i < own.n() && (context.size() > 1 || bad != own.rows().end()); ++i)
            EXPECT_TRUE(std::isnan(run.results(i, 0)[0])) << i;
        if (bad != own.rows().end()) run.at(port, place, 0) = kept;
        ASSERT_EQ(run.run(plan), SURROGATE_SUCCESS);
        expect_alone(clouds, own, run, options, reproducible[0] == 't' ? 0 : 2e-5);
    }
}

/// A run of one rank that overflows in a cloud: inputs are finite, sums are not.
TEST_F(FlareCloudPlans, FailIfTheSumsOfACloudAreNotFinite) {
    for (const int64_t row : {5, 300}) {
        const Clouds clouds = Clouds::of_sizes({10, 0, 3000});
        const CloudRows own(clouds, own_rows_of(clouds, "scattered"));
        const Domain domain(context, own.points());
        for (const char* reproducible : {"false", "true"}) {
            Plan plan(model, domain, {{"agree", "true"}, {"reproducible", reproducible}});
            CloudRun run(model, own, clouds.n_cloud());
            const auto found = std::ranges::find(own.rows(), row);
            if (found != own.rows().end())
                run.at(run.first_input(), found - own.rows().begin(), 0) = 3e38;
            EXPECT_EQ(run.run(plan), SURROGATE_NOT_FINITE) << row << reproducible;
        }
    }
}

TEST_F(FlareCloudPlans, RejectTwoEqualIdsInACloud) {
    Clouds clouds = Clouds::of_sizes({30, 30});
    std::vector<int64_t> rows = own_rows_of(clouds, "contiguous");
    for (int64_t& row : rows) row = row == 40 ? 41 : row;
    const CloudRows own(clouds, rows);
    const Domain domain(context, own.points());
    surrogate_plan* plan = nullptr;
    const Options options{{"reproducible", "true"}};
    const Answer found =
        answer(surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("the same global id 41 in cloud 1")) << found;
    EXPECT_TRUE(found == answer_of_rank_0(found, world));
}

}  // namespace
}  // namespace surrogate::test
