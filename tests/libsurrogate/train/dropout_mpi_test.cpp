// SPDX-License-Identifier: Apache-2.0
// Dropout in training: what it is for, that its bits do not depend on ranks or restarts, and rates
// that a trainer cannot apply.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <surrogate/surrogate_train.hpp>
#include <vector>

#include "tests/support/ranks.hpp"
#include "tests/support/shared_folder.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

const json dropping = changed(small_transformer(), {{"drop_rate", 0.2}, {"drop_path_rate", 0.4}});
const json plain_segformer = changed(small_segformer(), {{"drop_path_rate", 0}});

using Settings = std::map<std::string, std::string>;

const Options exact{{"gradients", "true"}, {"reproducible", "true"}};

/// A trainer of a model on the sphere, on the blocks of some ranks.
class SphereTrainer {
public:
    SphereTrainer(const Context& context, const std::string& path, const Settings& settings = {},
                  const SphereLayout& layout = {}, const Options& options = exact,
                  const std::optional<Context>& across = {})
        : model_(context, path),
          run_(context, model_, layout, options),
          target_(run_.out_block, 2),
          trainer_(across ? Trainer(run_.plan, *across, options_of(settings))
                          : Trainer(run_.plan, options_of(settings))) {
        run_.fill(wave_inputs(model_));
        run_.bind();
        target_.fill(wave(2 * run_.out_block.n_model_point(), 0.2));
        for (int64_t c = 0; c < 2; ++c)
            trainer_.bind_target("v" + std::to_string(c), target_.channel(c));
    }

    std::vector<double> losses(int n_step) {
        std::vector<double> list;
        for (int i = 0; i < n_step; ++i) list.push_back(trainer_.step().loss);
        return list;
    }
    std::vector<double> prediction() {
        EXPECT_EQ(run_.run(), SURROGATE_SUCCESS);
        return run_.result().points();
    }
    double validation() { return trainer_.validate(2).loss; }
    Trainer& trainer() { return trainer_; }

private:
    static TrainerOptions options_of(const Settings& settings) {
        TrainerOptions options{{"seed", "3"}, {"learning_rate", "1e-3"}, {"accumulate", "2"}};
        for (const auto& [key, value] : settings) options.set(key, value);
        return options;
    }

    const Model model_;
    SphereRun run_;
    BlockFields<float> target_;
    Trainer trainer_;
};

/// Two outputs, so that all networks have as many.
ModelOnDisk disk_of(json network) {
    network["out_chans"] = 2;
    network.erase("residual_prediction");
    return ModelOnDisk(network, 3, 2);
}

class Dropout : public testing::Test {
protected:
    const Context self, context = mpi_context(world);
};

TEST_F(Dropout, ChangesWhatIsLearntButNoValidationAndNoPrediction) {
    const ModelOnDisk disk = disk_of(dropping);
    SphereTrainer run(self, disk.path()), off(self, disk.path(), {{"dropout", "off"}});
    const std::vector<double> before = run.prediction();
    EXPECT_EQ(before, off.prediction());
    EXPECT_EQ(run.validation(), off.validation());
    const double first = run.trainer().accumulate(), second = run.trainer().accumulate();
    EXPECT_NE(first, run.validation());
    EXPECT_NE(first, second) << "each sample has its own masks";
    EXPECT_EQ(run.prediction(), before);
    EXPECT_EQ(off.trainer().accumulate(), off.validation());
    EXPECT_NE(run.trainer().describe().find("network.drop_rate 0.2 is applied"), std::string::npos);
    EXPECT_EQ(off.trainer().describe().find("is applied"), std::string::npos);
}

TEST_F(Dropout, OfRateZeroIsOff) {
    const ModelOnDisk disk = disk_of(plain_segformer);
    SphereTrainer run(self, disk.path()), off(self, disk.path(), {{"dropout", "off"}});
    EXPECT_EQ(run.losses(4), off.losses(4));
}

TEST_F(Dropout, HasTheSameBitsOnAnyRanksThreadsAndPartition) {
    for (const json& network : {dropping, changed(small_segformer(), {{"drop_path_rate", 0.6}})}) {
        const ModelOnDisk disk = disk_of(network);
        const std::vector<double> expected = SphereTrainer(self, disk.path()).losses(6);
        for (const char* partition : {"contiguous", "uneven", "scattered"}) {
            for (const char* threads : {"1", "2"}) {
                const Options options{
                    {"gradients", "true"}, {"reproducible", "true"}, {"threads", threads}};
                SphereTrainer run(context, disk.path(), {}, {.name = "", .partition = partition},
                                  options);
                EXPECT_EQ(run.losses(6), expected) << partition << " " << threads;
            }
        }
    }
}

TEST_F(Dropout, GoesOnFromACheckpointWithTheSameBits) {
    const ModelOnDisk disk = disk_of(dropping);
    const SharedFolder folder(world);
    const std::string path = folder / "dropout.safetensors";
    const std::vector<double> expected = SphereTrainer(self, disk.path()).losses(8);
    SphereTrainer part(context, disk.path());
    part.losses(4);
    part.trainer().save(path);
    MPI_Barrier(world);
    SphereTrainer rest(context, disk.path(), {}, {.name = "", .partition = "uneven"});
    rest.trainer().restore(path);
    EXPECT_EQ(rest.losses(4), std::vector<double>(expected.begin() + 4, expected.end()));
    SphereTrainer off(context, disk.path(), {{"dropout", "off"}});
    try {
        off.trainer().restore(path);
        FAIL() << "a training with dropout went on without";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), SURROGATE_INVALID_ARGUMENT);
        EXPECT_NE(std::string(error.what()).find("settings.dropout"), std::string::npos)
            << error.what();
    }
}

TEST_F(Dropout, OfGroupsIsThatOfAccumulatedSamples) {
    if (size_of(world) < 2) GTEST_SKIP() << "two groups need two ranks";
    const ModelOnDisk disk = disk_of(dropping);
    SphereTrainer alone(self, disk.path());
    MPI_Comm group;
    MPI_Comm_split(world, rank_of(world) % 2, rank_of(world), &group);
    {
        const Context shared = mpi_context(group);
        SphereTrainer run(shared, disk.path(), {{"accumulate", "1"}}, {}, exact,
                          mpi_context(world));
        for (int step = 0; step < 3; ++step) {
            alone.losses(1);
            EXPECT_EQ(run.losses(1), alone.losses(1));
        }
    }
    MPI_Comm_free(&group);
}

void expect_rejected(const Context& context, const json& network, surrogate_status status,
                     const std::string& text) {
    const ModelOnDisk disk = disk_of(network);
    try {
        SphereTrainer run(context, disk.path());
        ADD_FAILURE() << text;
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), status) << error.what();
        EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
}

TEST_F(Dropout, OfAttentionWeightsIsRejectedUnlessItIsOff) {
    const json transformer = changed(dropping, {{"attention_mode", "global"}});
    const json segformer =
        changed(small_segformer(), {{"attention_mode", "global"}, {"att_drop_rate", 0.1}});
    expect_rejected(context, transformer, SURROGATE_NOT_SUPPORTED,
                    "network.drop_rate is 0.2, expected 0");
    expect_rejected(context, segformer, SURROGATE_NOT_SUPPORTED,
                    "network.att_drop_rate is 0.1, expected 0: training drops no attention "
                    "weights; set the key to 0, or the training setting dropout=off");
    const ModelOnDisk disk = disk_of(segformer);
    SphereTrainer(context, disk.path(), {{"dropout", "off"}}).losses(2);
}

TEST_F(Dropout, RatesThatAreNoneAreRejectedWithTheCard) {
    for (const double rate : {-0.1, 1.0}) {
        for (const char* key : {"drop_rate", "drop_path_rate"}) {
            const json card = sphere_card(changed(small_transformer(), {{key, rate}}));
            ModelWriter writer = sphere_model(sphere_card(small_transformer()));
            writer.card = card;
            const ModelOnDisk disk(writer.bytes());
            try {
                const Model model(context, disk.path());
                ADD_FAILURE() << key << " " << rate;
            } catch (const Error& error) {
                EXPECT_EQ(error.status(), SURROGATE_BAD_FILE);
                const std::string text = error.what();
                EXPECT_NE(text.find(std::string("network.") + key + " is "), std::string::npos)
                    << text;
                EXPECT_NE(text.find("expected a probability"), std::string::npos) << text;
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::test
