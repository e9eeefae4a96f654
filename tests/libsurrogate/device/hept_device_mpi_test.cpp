// SPDX-License-Identifier: Apache-2.0
// HEPT with backend cuda on several ranks: refused by name, on all of them.
#include "tests/support/answer.hpp"
#include "tests/support/device_ranks.hpp"
#include "tests/support/hept_models.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

const MPI_Comm world = MPI_COMM_WORLD;

TEST(HeptRanks, AreRefusedUnlessThereIsOne) {
    const Context context = ranks_context(false);
    const ModelOnDisk disk(hept_network(small_hept()).bytes());
    const Model model(context, disk.path());
    const std::vector<double> x = {0.1 * rank_of(world), 0.2};
    const int64_t id = rank_of(world);
    const Domain domain(context, matrix(x.data(), 1, 2), &id);
    surrogate_plan* plan = nullptr;
    const Options options{{"backend", "cuda"}};
    const Answer found =
        answer(surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan));
    if (size_of(world) == 1) {
        EXPECT_EQ(found.status, SURROGATE_SUCCESS) << found;
    } else {
        EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
        EXPECT_TRUE(found.says("runs on one rank") && found.says("simd")) << found;
    }
    surrogate_plan_destroy(&plan);
}

}  // namespace
}  // namespace surrogate::test
