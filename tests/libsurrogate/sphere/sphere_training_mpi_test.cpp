// SPDX-License-Identifier: Apache-2.0
// Trainers of attention between two grids: inputs on both, targets on the finer or coarser one.
#include <gtest/gtest.h>

#include <string>
#include <surrogate/surrogate_train.hpp>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/train/noise.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

/// A layer that learns on the blocks of some ranks. Query, key and value are the fields u0 .. u11.
class TwoGridTraining {
public:
    TwoGridTraining(const Context& context, const std::string& path, const SphereLayout& layout,
                    const Options& options, const char* noise)
        : model_(context, path),
          run_(context, model_, layout, options),
          target_(run_.out_block, 4),
          trainer_(
              run_.plan,
              {{"learning_rate", "1e-2"}, {"noise", noise}, {"seed", "3"}, {"reservoir", "2"}}) {
        run_.fill(wave_inputs(model_));
        target_.fill(wave(4 * run_.out_block.n_model_point(), 0.2));
        int field = 0;
        for (size_t port = 0; port < 3; ++port) {
            for (int64_t c = 0; c < 4; ++c)
                run_.plan.bind_input("u" + std::to_string(field++), run_.fields[port].channel(c));
        }
        for (int64_t c = 0; c < 4; ++c)
            trainer_.bind_target("v" + std::to_string(c), target_.channel(c));
    }
    std::vector<double> losses(int n_step) {
        std::vector<double> list;
        for (int i = 0; i < n_step; ++i) list.push_back(trainer_.step().loss);
        return list;
    }
    Trainer& trainer() { return trainer_; }
    const impl::Plan& plan() const { return *run_.plan.get()->plan; }

private:
    const Model model_;
    SphereRun run_;
    BlockFields<float> target_;
    Trainer trainer_;
};

class SphereTraining : public testing::TestWithParam<const char*> {
protected:
    static json network() {
        const json coarse = {6, 12};
        const std::string name = GetParam();
        return changed(small_attention(name == "Global"),
                       {{name == "Finer" ? "in_shape" : "out_shape", coarse}});
    }
    const ModelOnDisk disk{network(), 12, 4};
    const Context self, context = mpi_context(MPI_COMM_WORLD);
    const Options exact{{"gradients", "true"}, {"reproducible", "true"}, {"backend", "simd"}};
};

TEST_P(SphereTraining, LearnsWithTheBitsOfOneRank) {
    for (const char* noise : {"0", "0.1"}) {
        const std::vector<double> expected =
            TwoGridTraining(self, disk.path(), {.name = ""}, exact, noise).losses(4);
        EXPECT_LT(expected[3], expected[0]);
        for (const char* partition : {"contiguous", "uneven", "scattered"}) {
            const SphereLayout layout{.name = "", .partition = partition};
            EXPECT_EQ(TwoGridTraining(context, disk.path(), layout, exact, noise).losses(4),
                      expected)
                << partition << ", noise " << noise;
        }
    }
}

TEST_P(SphereTraining, HasNoiseOnTheInputsOfBothGrids) {
    TwoGridTraining run(context, disk.path(), {.name = ""}, exact, "0");
    const impl::Plan& plan = run.plan();
    impl::Noise noise(0.5, 7);
    const auto columns = noise.on(plan, plan.inputs(), 0);
    for (size_t c = 0; c < columns.size(); ++c) {
        for (int64_t i = 0; i < plan.n_input_row(c); ++i)
            EXPECT_NE(impl::load(columns[c], i), impl::load(plan.inputs()[c], i)) << c;
    }
}

TEST_P(SphereTraining, KeepsNoSamplesOfTwoGrids) {
    TwoGridTraining run(context, disk.path(), {.name = ""}, exact, "0");
    try {
        run.trainer().reservoir_add();
        FAIL() << "a sample with inputs on two grids was kept";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), SURROGATE_NOT_SUPPORTED);
        EXPECT_NE(std::string(error.what()).find("'u0'"), std::string::npos) << error.what();
    }
}

INSTANTIATE_TEST_SUITE_P(, SphereTraining, testing::Values("Coarser", "Finer", "Global"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace surrogate::test
