// SPDX-License-Identifier: Apache-2.0
// Collective calls with invalid arguments return the same error on all ranks.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/darcy_case.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

class CollectiveCalls : public testing::Test {
protected:
    /// All ranks were told the same.
    void expect_same_answer(const Answer& found) {
        const Answer first = answer_of_rank_0(found, world);
        EXPECT_EQ(found, first);
        EXPECT_TRUE(ranks_still_talk(world));
    }

    Context context = mpi_context(world);
    Model model{context, darcy_model};
};

TEST_F(CollectiveCalls, BadFileIsRefusedOnAllRanksAlike) {
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

TEST_F(CollectiveCalls, NullResultOnOneRankIsToldToAll) {
    const bool is_culprit = context.rank() == context.size() - 1;
    surrogate_model* handle = nullptr;
    const Answer found =
        answer(surrogate_model_load(context.get(), darcy_model, is_culprit ? nullptr : &handle));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("rank " + std::to_string(context.size() - 1))) << found;
    EXPECT_EQ(handle, nullptr);
    expect_same_answer(found);
}

class CollectiveDomain : public CollectiveCalls {
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

TEST_F(CollectiveDomain, DifferentDimensionsAreRefused) {
    const Answer found = create(matrix(points.x.data(), points.n(), is_last ? 1 : 2), nullptr);
    EXPECT_EQ(found.status, SURROGATE_SHAPE);
    EXPECT_TRUE(found.says("1 and 2 coordinates")) << found;
}

TEST_F(CollectiveDomain, IdsOnSomeRanksOnlyAreRefused) {
    const Answer found =
        create(matrix(points.x.data(), points.n(), 2), is_last ? nullptr : points.ids.data());
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("some ranks give global ids")) << found;
}

TEST_F(CollectiveDomain, RanksWithoutPointsNeedNotKnowDimensionOrIds) {
    const int64_t n = is_last ? 0 : points.n();
    const Answer found =
        create(matrix(points.x.data(), n, is_last ? 0 : 2), is_last ? nullptr : points.ids.data());
    EXPECT_EQ(found.status, SURROGATE_SUCCESS);
}

TEST_F(CollectiveCalls, OptionsMustBeTheSameOnAllRanks) {
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

TEST_F(CollectiveCalls, CommunicatorsThatCannotServeAreRefused) {
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
