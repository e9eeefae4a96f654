// SPDX-License-Identifier: Apache-2.0
// Trainings with loss=infonce: a small HEPT that learns to bring the hits of a particle together.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/libsurrogate/train/golden_ranks.hpp"
#include "tests/libsurrogate/train/tracker.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

TEST(PairTraining, SeparatesTheParticlesOfTwoEvents) {
    Tracker run;
    const auto mean_loss = [&] {
        double sum = 0;
        for (int64_t event = 0; event < 2; ++event) {
            run.load(event);
            const Trainer::Validation found = run.bind().trainer.validate(4);
            for (const double error : found.error) EXPECT_TRUE(std::isnan(error));
            sum += found.loss / 2;
        }
        return sum;
    };
    const double before = mean_loss();
    for (int step = 0; step < 40; ++step) {
        run.load(step % 2);
        run.bind().trainer.step();
    }
    EXPECT_LT(mean_loss(), 0.02 * before);
}

TEST(PairTraining, HasTheSameBitsOnAnyThreadsAndAfterResuming) {
    const std::string path = testing::TempDir() + "/pairs_" + std::to_string(rank_of(world));
    const Settings reproducible = {{"reproducible", "true"}};
    Tracker whole({}, reproducible), threads({}, {{"reproducible", "true"}, {"threads", "3"}});
    Tracker first({}, reproducible), second({}, reproducible);
    for (Tracker* run : {&whole, &threads, &first, &second}) run->bind();
    for (int i = 0; i < 4; ++i) whole.trainer.step();
    for (int i = 0; i < 4; ++i) threads.trainer.step();
    for (int i = 0; i < 2; ++i) first.trainer.step();
    first.trainer.save(path);
    second.trainer.restore(path);
    for (int i = 0; i < 2; ++i) second.trainer.step();
    EXPECT_EQ(threads.parameters(), whole.parameters());
    EXPECT_EQ(second.parameters(), whole.parameters());
    EXPECT_NE(first.parameters(), whole.parameters());
}

TEST(PairTraining, HasTheSameBitsForAnyOrderOfPointsAndInTheReservoir) {
    const Settings keeps = {{"reservoir", "1"}};
    Tracker bound(keeps), permuted({}, {}, {}, true), stored(keeps);
    bound.bind();
    permuted.bind();
    stored.bind().trainer.reservoir_add();
    std::fill(stored.labels.begin(), stored.labels.end(), 3);
    for (int i = 0; i < 3; ++i) bound.trainer.step();
    for (int i = 0; i < 3; ++i) permuted.trainer.step();
    stored.trainer.reservoir_step(3);
    EXPECT_EQ(permuted.parameters(), bound.parameters());
    EXPECT_EQ(stored.parameters(), bound.parameters());
}

/// Each rank is a group that trains on its own event; one rank alone accumulates the same events.
TEST(PairTraining, HasTheSameBitsInGroups) {
    const int64_t size = size_of(world), rank = rank_of(world);
    const Settings reproducible = {{"reproducible", "true"}};
    Tracker alone({{"accumulate", std::to_string(size)}}, reproducible);
    Tracker group({{"accumulate", "1"}}, reproducible, mpi_context(MPI_COMM_WORLD));
    for (int step = 0; step < 2; ++step) {
        for (int64_t event = 0; event < size; ++event) {
            alone.load(event);
            alone.bind().trainer.step();
        }
        group.load(rank);
        group.bind().trainer.step();
    }
    EXPECT_EQ(group.parameters(), alone.parameters());
}

TEST(PairTraining, StepsOnTheSameSampleTakeNoMemory) {
    Tracker run;
    run.bind();
    for (int i = 0; i < 2; ++i) run.trainer.step();
    const int64_t bytes = run.trainer.counter("bytes");
    const MemoryMeter meter;
    for (int i = 0; i < 3; ++i) surrogate_trainer_step(run.trainer.get(), nullptr);
    EXPECT_EQ(meter.n_allocation(), 0);
    EXPECT_EQ(run.trainer.counter("bytes"), bytes);
}

TEST(PairTraining, BadLabelsAndWeightsAreErrorsThatLoseNothing) {
    Tracker run, undisturbed;
    Answer found = run.step_answer();
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("surrogate_trainer_bind_labels first")) << found;
    run.bind().trainer.step();
    run.labels[4] = -7;
    found = run.step_answer();
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("label -7 at point with id 4")) << found;
    EXPECT_TRUE(found.says("expected 0 or more, or -100")) << found;
    std::fill(run.labels.begin(), run.labels.end(), -100);
    found = run.step_answer();
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(found.says("no particle has two points of weight 1")) << found;
    run.weights[5] = 0.5;
    const surrogate_array weights = column(run.weights.data(), Tracker::n);
    found = answer(surrogate_trainer_set_point_weights(run.trainer.get(), &weights));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("0.5 at point with id 5")) << found;
    run.fill(0, false);
    run.bind().trainer.step();
    undisturbed.bind();
    for (int i = 0; i < 2; ++i) undisturbed.trainer.step();
    EXPECT_EQ(run.parameters(), undisturbed.parameters());
}

TEST(PairTraining, SettingsAreChecked) {
    TrainerOptions settings;
    const auto set = [&](const char* key, const char* value) {
        return answer(surrogate_trainer_options_set(settings.get(), key, value));
    };
    EXPECT_TRUE(set("similarity", "l1").says("expected l2_rbf, l2_inverse, cosine"));
    EXPECT_TRUE(set("pair_neighbors", "0").says("a whole number from 1"));
    EXPECT_TRUE(set("pair_random", "1.5").says("a number from 0 to 1"));
    EXPECT_TRUE(set("temperature", "0").says("a number above 0"));
    Tracker run(Settings{{"loss", "mse"}});
    const surrogate_array labels = run.label_array();
    const Answer found = answer(surrogate_trainer_bind_labels(run.trainer.get(), &labels));
    EXPECT_TRUE(found.says("expected 'cross_entropy', 'focal' or 'infonce'")) << found;
}

/// FLARE trains a sample on several ranks, but pairs are made on one.
TEST(PairTraining, SeveralRanksOfASampleAndOneCoordinateAreRejected) {
    GoldenRun run = on_ranks({}, {});
    surrogate_trainer* trainer = nullptr;
    const TrainerOptions settings = training_of({{"loss", "infonce"}});
    Answer found =
        answer(surrogate_trainer_create(run.plan.get(), nullptr, settings.get(), &trainer));
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(found.says(run.context.size() > 1 ? "on one rank, and the plan's context has"
                                                  : "coordinates 0 and 1, and the points of the "
                                                    "domain have 1, expected more than 1"))
        << found;
}

}  // namespace
}  // namespace surrogate::test
