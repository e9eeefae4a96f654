// SPDX-License-Identifier: Apache-2.0
// Programs of family torch with a plug-in whose numbers are known: fields, clouds, chunks, errors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/libsurrogate/exported/exported_case.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

const Options allowed{{"allow_code", "true"}};

class Exported : public testing::Test {
protected:
    /// The points of this rank and their arrays.
    struct Points {
        std::vector<double> x, k, u, n;
        std::vector<int64_t> clouds;

        void add(double at, int64_t cloud) {
            x.push_back(at);
            k.push_back(3 * at + 1);
            u.push_back(-1);
            n.push_back(-1);
            clouds.push_back(cloud);
        }
        int64_t size() const { return std::ssize(x); }
        surrogate_points points() {
            return {matrix(x.data(), size(), 1), nullptr, clouds.data(), nullptr};
        }
        void bind(Plan& plan) {
            plan.bind_input("k", matrix(k.data(), size(), 1));
            plan.bind_output("u", matrix(u.data(), size(), 1));
            plan.bind_output("n", matrix(n.data(), size(), 1));
        }
        /// The first channel of the network: x + (k - 1) / 2 of a point.
        double sum(int64_t i) const {
            const auto at = static_cast<size_t>(i);
            return x[at] + (k[at] - 1) / 2;
        }
    };
    const Context context = mpi_context(world);
    const int rank = rank_of(world), n_rank = size_of(world);
};

TEST_F(Exported, RowsAreIndependentPerPoint) {
    const ExportedCase files("sum", {{"min_points", 2}});
    const Model model(context, files.path());
    for (const int64_t each : {1, 2, 40}) {
        Points p;  // none on the last of several ranks
        const int64_t n = n_rank == 1 ? each : each * ((rank + 1) % n_rank);
        for (int64_t i = 0; i < n; ++i)
            p.add(static_cast<double>(rank) + 0.01 * static_cast<double>(i), i % 2);
        const Domain domain(context, p.points());
        Plan plan(model, domain, allowed);
        p.bind(plan);
        plan.run();
        for (int64_t i = 0; i < p.size(); ++i) {
            EXPECT_NEAR(p.u[static_cast<size_t>(i)], 10 + 2 * p.sum(i), 1e-5);
            EXPECT_EQ(p.n[static_cast<size_t>(i)],
                      std::max<double>(2, static_cast<double>(p.size())));
        }
        EXPECT_EQ(plan.counter("collectives"), 0);
    }
}

TEST_F(Exported, ChunksHaveTheNumbersOfPointsOfTheCard) {
    const ExportedCase files("sum", {{"min_points", 4}, {"max_points", 8}});
    const Model model(context, files.path());
    for (const int64_t n : {1, 4, 7, 8, 9, 12, 17}) {
        Points p;
        for (int64_t i = 0; i < n; ++i) p.add(0.01 * static_cast<double>(i), 0);
        const Domain domain(context, p.points());
        Plan plan(model, domain, allowed);
        p.bind(plan);
        plan.run();
        for (int64_t i = 0; i < n; ++i) {
            EXPECT_NEAR(p.u[static_cast<size_t>(i)], 10 + 2 * p.sum(i), 1e-5);
            EXPECT_GE(p.n[static_cast<size_t>(i)], 4);
            EXPECT_LE(p.n[static_cast<size_t>(i)], 8);
        }
    }
}

TEST_F(Exported, CloudsAreEvaluatedAloneAndInAnyOrder) {
    const ExportedCase files("mean", {{"per", "cloud"}, {"dtype", "float64"}});
    const Model model(context, files.path());
    Points p;  // clouds 2 rank and 2 rank + 1, mixed
    for (int64_t i = 0; i < 9; ++i)
        p.add(static_cast<double>(rank) + 0.1 * static_cast<double>(i), 2 * rank + i % 3 % 2);
    Domain domain(context, p.points());
    Plan plan(model, domain, {{"allow_code", "true"}, {"precision", "fp64"}});
    p.bind(plan);
    const auto expect_right = [&] {
        double sum[2] = {}, count[2] = {};
        for (int64_t i = 0; i < p.size(); ++i) {
            sum[p.clouds[static_cast<size_t>(i)] % 2] += p.sum(i);
            count[p.clouds[static_cast<size_t>(i)] % 2] += 1;
        }
        for (int64_t i = 0; i < p.size(); ++i) {
            const auto cloud = p.clouds[static_cast<size_t>(i)] % 2;
            EXPECT_NEAR(p.u[static_cast<size_t>(i)],
                        10 + 2 * (p.sum(i) + sum[cloud] / count[cloud]), 1e-12);
            EXPECT_EQ(p.n[static_cast<size_t>(i)], count[cloud]);
        }
    };
    plan.run();
    expect_right();
    for (int64_t i = 0; i < 5; ++i) p.add(7 + static_cast<double>(i), 2 * rank + 1);  // moved
    domain.update_points(p.points());
    p.bind(plan);
    plan.run();
    expect_right();
}

TEST_F(Exported, CloudsOnSeveralRanksAreRejectedOnAll) {
    const ExportedCase files("mean", {{"per", "cloud"}});
    const Model model(context, files.path());
    Points p;
    p.add(0.5, rank + 1);
    p.add(0.6, n_rank == 1 ? 0 : rank);
    const Domain domain(context, p.points());
    surrogate_plan* made = nullptr;
    const Answer found =
        answer(surrogate_plan_create(model.get(), domain.get(), nullptr, allowed.get(), &made));
    surrogate_plan_destroy(&made);
    if (n_rank == 1) return;
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
    EXPECT_TRUE(found.says("cloud 1 has points on 2 ranks, expected 1")) << found;
    EXPECT_EQ(found, answer_of_rank_0(found, world));
}

TEST_F(Exported, CloudsOutsideTheSizesOfTheCardAreRejectedOnAll) {
    const ExportedCase files("mean", {{"per", "cloud"}, {"min_points", 2}, {"max_points", 3}});
    const Model model(context, files.path());
    Points p;
    for (int i = 0; i < (rank == n_rank - 1 ? 4 : 3); ++i) p.add(i, rank);
    const Domain domain(context, p.points());
    surrogate_plan* made = nullptr;
    const Answer found =
        answer(surrogate_plan_create(model.get(), domain.get(), nullptr, allowed.get(), &made));
    EXPECT_EQ(found.status, SURROGATE_SHAPE) << found;
    EXPECT_TRUE(found.says("has 4 points, expected from 2 to 3")) << found;
    EXPECT_EQ(found, answer_of_rank_0(found, world));
}

TEST_F(Exported, PackagesThatCannotBeOpenedAreReportedOnAll) {
    for (const auto& [word, status, part] :
         {std::tuple{"cuda", SURROGATE_NOT_SUPPORTED, "its device is cuda"},
          std::tuple{"garbage", SURROGATE_BAD_FILE, "no archive"}}) {
        const ExportedCase files(word);
        const Model model(context, files.path());
        Points p;
        p.add(0.5, 0);
        const Domain domain(context, p.points());
        surrogate_plan* made = nullptr;
        const Answer found =
            answer(surrogate_plan_create(model.get(), domain.get(), nullptr, allowed.get(), &made));
        EXPECT_EQ(found.status, status) << found;
        EXPECT_TRUE(found.says("PyTorch package 'net.pt2': " + std::string(part))) << found;
        EXPECT_EQ(found, answer_of_rank_0(found, world));
    }
}

TEST_F(Exported, FailingRunsLeaveNan) {
    const ExportedCase files("broken");
    const Model model(context, files.path());
    Points p;
    p.add(0.5, 0);
    const Domain domain(context, p.points());
    for (const char* agree : {"false", "true"}) {
        Plan plan(model, domain, {{"allow_code", "true"}, {"agree", agree}});
        p.bind(plan);
        p.u[0] = 7;
        const Answer found = answer(surrogate_plan_run(plan.get()));
        EXPECT_EQ(found.status, SURROGATE_BAD_FILE) << found;
        EXPECT_TRUE(found.says("PyTorch package 'net.pt2': it threw")) << found;
        EXPECT_TRUE(std::isnan(p.u[0]));
    }
}

TEST_F(Exported, BadInputsAreReportedAndPlansStayUsable) {
    const ExportedCase files("sum");
    const Model model(context, files.path());
    Points p;
    p.add(0.5, 0);
    const Domain domain(context, p.points());
    Plan plan(model, domain, allowed);
    p.bind(plan);
    p.k[0] = std::numeric_limits<double>::quiet_NaN();
    const Answer found = answer(surrogate_plan_run(plan.get()));
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
    EXPECT_TRUE(std::isnan(p.u[0]));
    p.k[0] = 3;
    plan.run();
    EXPECT_NEAR(p.u[0], 10 + 2 * 1.5, 1e-6);
    EXPECT_NE(plan.describe().find("computed by PyTorch 0.0.fake with "), std::string::npos)
        << plan.describe();
}

}  // namespace
}  // namespace surrogate::test
