// SPDX-License-Identifier: Apache-2.0
// Predictions on many ranks in every arrangement, and collective calls that are refused on all
// ranks alike.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/darcy_case.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {
namespace {

const MPI_Comm world = MPI_COMM_WORLD;
const Options reproducible{{"reproducible", "true"}};

/// The values of `own` rows, out of those of all rows.
std::vector<double> pick(const std::vector<double>& all, const std::vector<int64_t>& own) {
    std::vector<double> values;
    for (int64_t row : own) values.push_back(all[static_cast<size_t>(row)]);
    return values;
}

std::vector<int64_t> all_on_rank(int owner, int64_t n) {
    return rank_of(world) == owner ? first_rows(n) : std::vector<int64_t>{};
}

class Ranks : public testing::Test {
protected:
    /// What one rank alone predicts.
    std::vector<double> alone(int64_t n, const Options& options = {}) {
        const Context self;
        return predict(Model(self, darcy_model), self, DarcyCase(first_rows(n)), options);
    }
    void expect_as_alone(const std::vector<int64_t>& rows, int64_t n) {
        const std::vector<double> fast = predict(model, context, DarcyCase(rows));
        const std::vector<double> exact = predict(model, context, DarcyCase(rows), reproducible);
        EXPECT_LE(relative_difference(fast, pick(alone(n), rows)), order_tolerance);
        EXPECT_EQ(exact, pick(alone(n, reproducible), rows));
    }
    /// All ranks were told the same.
    void expect_same_answer(const Answer& found) {
        const Answer first = answer_of_rank_0(found, world);
        EXPECT_EQ(found, first);
        EXPECT_TRUE(ranks_still_talk(world));
    }

    Context context = mpi_context(world);
    Model model{context, darcy_model};
};

TEST_F(Ranks, EveryPartitionPredictsAsOneRank) {
    for (const char* kind : {"contiguous", "scattered", "uneven"})
        expect_as_alone(own_rows(kind, 1500, world), 1500);
}

TEST_F(Ranks, OneRankMayOwnAllPoints) {
    for (int owner = 0; owner < context.size(); ++owner)
        expect_as_alone(all_on_rank(owner, 100), 100);
}

TEST_F(Ranks, FewerPointsThanRanksAreFine) {
    for (int64_t n : {0, 1, 2}) expect_as_alone(own_rows("contiguous", n, world), n);
}

TEST_F(Ranks, WithoutPointsRaiseNoTrap) {
    for (const char* mode : {"false", "true"}) {
        DarcyCase points(own_rows("uneven", 100, world));
        const Domain domain = points.domain(context);
        const TrapGuard guard;
        Plan plan(model, domain, {{"reproducible", mode}, {"threads", "1"}});
        points.bind(plan);
        EXPECT_EQ(surrogate_plan_run(plan.get()), SURROGATE_SUCCESS);
    }
}

TEST_F(Ranks, TableTellsWhatEachRankSent) {
    for (const char* mode : {"false", "true"}) {
        DarcyCase points(own_rows("scattered", 3000, world));
        const Domain domain = points.domain(context);
        Plan plan(model, domain, {{"reproducible", mode}});
        points.bind(plan);
        plan.run();
        const std::string table = plan.describe();
        std::istringstream total(table.substr(table.find("total of this rank") + 18));
        double flops = 0, exponentials = 0;
        int64_t bytes = 0, collectives = 0;
        total >> flops >> exponentials >> bytes >> collectives;
        EXPECT_EQ(bytes, plan.counter("bytes_sent")) << table;
        EXPECT_EQ(collectives, plan.counter("collectives")) << table;
    }
}

TEST_F(Ranks, HalfOfTheRanksMayUseTheLibrary) {
    const int half = (size_of(world) + 1) / 2;
    const bool takes_part = rank_of(world) < half;
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(world, takes_part, 0, &part);
    if (takes_part) {
        const Context own = mpi_context(part);
        EXPECT_EQ(own.size(), half);
        const std::vector<int64_t> rows = own_rows("scattered", 100, part);
        const Model loaded(own, darcy_model);
        EXPECT_EQ(predict(loaded, own, DarcyCase(rows), reproducible),
                  pick(alone(100, reproducible), rows));
    }
    MPI_Comm_free(&part);
    EXPECT_TRUE(ranks_still_talk(world));
}

TEST_F(Ranks, TwoContextsOnOneCommunicatorRunInTurns) {
    const Context other = mpi_context(world);
    const Model other_model(other, darcy_model);
    DarcyCase a(own_rows("scattered", 100, world)), b(own_rows("uneven", 80, world));
    const Domain domain_a = a.domain(context), domain_b = b.domain(other);
    Plan plan_a(model, domain_a, reproducible), plan_b(other_model, domain_b, reproducible);
    a.bind(plan_a);
    b.bind(plan_b);
    for (int step = 0; step < 3; ++step) {
        plan_a.run();
        plan_b.run();
    }
    EXPECT_EQ(a.pressure, pick(alone(100, reproducible), a.ids));
    EXPECT_EQ(b.pressure, pick(alone(80, reproducible), b.ids));
}

TEST_F(Ranks, TwoPlansOfOneContextRunInTurns) {
    DarcyCase a(own_rows("scattered", 100, world)), b(own_rows("uneven", 80, world));
    const Domain domain_a = a.domain(context), domain_b = b.domain(context);
    Plan plan_a(model, domain_a, reproducible), plan_b(model, domain_b);
    a.bind(plan_a);
    b.bind(plan_b);
    plan_b.run();
    const std::vector<double> expected_b = b.pressure;
    for (int step = 0; step < 3; ++step) {
        plan_a.run();
        plan_b.run();
    }
    EXPECT_EQ(a.pressure, pick(alone(100, reproducible), a.ids));
    EXPECT_EQ(b.pressure, expected_b);
}

TEST_F(Ranks, BadFileIsRefusedOnAllRanksAlike) {
    const std::string truncated =
        std::filesystem::temp_directory_path() /
        ("surrogate_truncated_" + std::to_string(size_of(world)) + ".safetensors");
    if (context.rank() == 0) {
        std::ifstream whole(darcy_model, std::ios::binary);
        std::vector<char> bytes(400'000);
        whole.read(bytes.data(), std::ssize(bytes));
        std::ofstream(truncated, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    }
    const auto load = [&](const char* path) {
        surrogate_model* handle = nullptr;
        const Answer found = answer(surrogate_model_load(context.get(), path, &handle));
        EXPECT_EQ(handle, nullptr);
        expect_same_answer(found);
        return found;
    };
    EXPECT_EQ(load("/nowhere/model.safetensors").status, SURROGATE_IO);
    const Answer cut = load(truncated.c_str());
    EXPECT_EQ(cut.status, SURROGATE_BAD_FILE);
    EXPECT_TRUE(cut.says("rank 0") && cut.says("surrogate_truncated")) << cut;
    EXPECT_EQ(load(nullptr).status, SURROGATE_INVALID_ARGUMENT);
    if (context.rank() == 0) std::filesystem::remove(truncated);
}

TEST_F(Ranks, NullResultOnOneRankIsToldToAll) {
    const bool is_culprit = context.rank() == context.size() - 1;
    surrogate_model* handle = nullptr;
    const Answer found =
        answer(surrogate_model_load(context.get(), darcy_model, is_culprit ? nullptr : &handle));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("rank " + std::to_string(context.size() - 1))) << found;
    EXPECT_EQ(handle, nullptr);
    expect_same_answer(found);
}

class RanksDomain : public Ranks {
protected:
    Answer create(const surrogate_array& x, const int64_t* ids) {
        surrogate_domain* domain = nullptr;
        const surrogate_points given{x, ids, nullptr, nullptr};
        const Answer found = answer(surrogate_domain_create_points(context.get(), &given, &domain));
        surrogate_domain_destroy(&domain);
        expect_same_answer(found);
        return found;
    }
    const DarcyCase points{own_rows("contiguous", 12, world)};
    const bool is_last = context.rank() == context.size() - 1;
};

TEST_F(RanksDomain, DifferentDimensionsAreRefused) {
    const Answer found = create(matrix(points.x.data(), points.n(), is_last ? 1 : 2), nullptr);
    EXPECT_EQ(found.status, SURROGATE_SHAPE);
    EXPECT_TRUE(found.says("1 and 2 coordinates")) << found;
}

TEST_F(RanksDomain, IdsOnSomeRanksOnlyAreRefused) {
    const Answer found =
        create(matrix(points.x.data(), points.n(), 2), is_last ? nullptr : points.ids.data());
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("some ranks give global ids")) << found;
}

TEST_F(RanksDomain, RanksWithoutPointsNeedNotKnowDimensionOrIds) {
    const int64_t n = is_last ? 0 : points.n();
    const Answer found =
        create(matrix(points.x.data(), n, is_last ? 0 : 2), is_last ? nullptr : points.ids.data());
    EXPECT_EQ(found.status, SURROGATE_SUCCESS);
}

TEST_F(Ranks, OptionsMustBeTheSameOnAllRanks) {
    Options options;
    if (context.rank() == 0) options.set("reproducible", "true");
    surrogate_context* created = nullptr;
    const Answer refused = answer(surrogate_context_create_mpi(world, options.get(), &created));
    EXPECT_EQ(refused.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(refused.says("different values")) << refused;
    expect_same_answer(refused);

    const Domain domain = DarcyCase(own_rows("contiguous", 12, world)).domain(context);
    surrogate_plan* plan = nullptr;
    const Answer refused_plan =
        answer(surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan));
    EXPECT_EQ(refused_plan.status, SURROGATE_INVALID_ARGUMENT);
    expect_same_answer(refused_plan);
}

TEST_F(Ranks, CommunicatorsThatCannotServeAreRefused) {
    surrogate_context* created = nullptr;
    const Answer null = answer(surrogate_context_create_mpi(MPI_COMM_NULL, nullptr, &created));
    EXPECT_EQ(null.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(null.says("MPI_COMM_NULL")) << null;

    MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL;
    const bool first = rank_of(world) == 0;
    MPI_Comm_split(world, first, 0, &half);
    MPI_Intercomm_create(half, 0, world, first ? 1 : 0, 0, &inter);
    const Answer refused = answer(surrogate_context_create_mpi(inter, nullptr, &created));
    EXPECT_EQ(refused.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(refused.says("intercommunicator")) << refused;
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

}  // namespace
}  // namespace surrogate::test
