// SPDX-License-Identifier: Apache-2.0
// Plans of FLARE on several clouds: one rank runs out of memory, at every allocation in turn.
#include <gtest/gtest.h>

#include "tests/libsurrogate/conformance/faults_memory.hpp"
#include "tests/support/cloud_plans.hpp"
#include "tests/support/data_path.hpp"

namespace surrogate::test {
namespace {

TEST_F(FaultsMemory, InAPlanOfSeveralCloudsIsToldToAllRanks) {
    const Model model(context, stored_case("flare/ablation_latent_blocks"));
    const Clouds clouds = Clouds::of_sizes({40, 0, 3, 1200, 70});
    const CloudRows own(clouds, own_rows("scattered", clouds.n(), comm));
    const Domain domain(context, own.points());
    for (const char* reproducible : {"false", "true"}) {
        const Options options{{"reproducible", reproducible}, {"threads", "2"}};
        fail_at_each_allocation([&] {
            surrogate_plan* plan = nullptr;
            const surrogate_status status =
                surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan);
            EXPECT_EQ(plan == nullptr, status != SURROGATE_SUCCESS);
            surrogate_plan_destroy(&plan);
            return status;
        });
    }
}

}  // namespace
}  // namespace surrogate::test
