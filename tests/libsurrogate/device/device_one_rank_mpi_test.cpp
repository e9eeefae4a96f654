// SPDX-License-Identifier: Apache-2.0
// Families that devices take on one rank: on several they are refused by name, on all ranks.
#include "tests/support/device_ranks.hpp"
#include "tests/support/hept_models.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

/// A plan on these domains; output null: the points of the input. Collective.
void expect_made_on_one_rank_only(const Model& model, const Domain& input, const Domain* output) {
    surrogate_plan* plan = nullptr;
    const Options options{{"backend", "cuda"}};
    const Answer found = answer(surrogate_plan_create(
        model.get(), input.get(), output ? output->get() : nullptr, options.get(), &plan));
    if (size_of(MPI_COMM_WORLD) == 1) {
        EXPECT_EQ(found.status, SURROGATE_SUCCESS) << found;
    } else {
        EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
        EXPECT_TRUE(found.says("on one rank") && found.says("simd")) << found;
    }
    surrogate_plan_destroy(&plan);
}

TEST(OnDevicesOfSeveralRanks, FamiliesOnPointsAreRefused) {
    const Context context = ranks_context(false);
    const int64_t id = rank_of(MPI_COMM_WORLD);
    const std::vector<double> x = {0.1 * static_cast<double>(id), 0.2};
    const ModelOnDisk disk(hept_network(small_hept()).bytes());
    const Model model(context, disk.path());
    const Domain domain(context, matrix(x.data(), 1, 2), &id);
    expect_made_on_one_rank_only(model, domain, nullptr);
}

}  // namespace
}  // namespace surrogate::test
