// SPDX-License-Identifier: Apache-2.0
// Errors of a sample, a call or a file: the same on all ranks, and the weights are kept.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/libsurrogate/train/golden_ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

Answer agreed(surrogate_status status) {
    const Answer found = answer(status);
    EXPECT_TRUE(ranks_still_talk(world));
    EXPECT_EQ(found, answer_of_rank_0(found, world));
    return found;
}

class TrainingFaults : public testing::Test {
protected:
    const bool is_last = rank_of(world) == size_of(world) - 1;

    Answer accumulate(GoldenRun& run) {
        return agreed(surrogate_trainer_accumulate(run.trainer.get(), nullptr));
    }
    Answer apply(GoldenRun& run, surrogate_step_report* report = nullptr) {
        return agreed(surrogate_trainer_apply(run.trainer.get(), report));
    }
};

TEST_F(TrainingFaults, ABadSampleIsNamedAndLeavesTheStepAsItWas) {
    GoldenRun good = on_ranks({{"reproducible", "true"}});
    GoldenRun run = on_ranks({{"reproducible", "true"}});
    const surrogate_step_report expected = good.golden_step(0);
    run.load(GoldenRun::golden_sample(0, 0));
    EXPECT_EQ(accumulate(run).status, SURROGATE_SUCCESS);

    if (is_last) run.target[0] = NAN;
    Answer found = accumulate(run);
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(found.says("target of output 'u' is not finite at point")) << found;
    run.load(1);
    if (is_last) run.b[0] = INFINITY;
    found = accumulate(run);
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(found.says("input 'b' is inf at point")) << found;
    for (double& value : run.target) value = 0;
    run.load(2);
    for (double& value : run.target) value = 0;
    found = accumulate(run);
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(found.says("target is zero everywhere")) << found;

    run.load(GoldenRun::golden_sample(0, 1));
    EXPECT_EQ(accumulate(run).status, SURROGATE_SUCCESS);
    surrogate_step_report report{};
    EXPECT_EQ(apply(run, &report).status, SURROGATE_SUCCESS);
    EXPECT_EQ(report.samples, 2);
    EXPECT_EQ(report.loss, expected.loss);
    EXPECT_EQ(run.weights(), good.weights());
}

TEST_F(TrainingFaults, WhatOneRankHasNotBoundIsAnErrorOfAll) {
    GoldenRun run = on_ranks({});
    run.load(0);
    if (is_last) surrogate_plan_unbind(run.plan.get());
    const Answer found = accumulate(run);
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("input 'a' is not bound")) << found;
    run.plan.bind_input("a", column(run.a.data(), run.n()));
    run.plan.bind_input("b", column(run.b.data(), run.n()));
    EXPECT_EQ(accumulate(run).status, SURROGATE_SUCCESS);
}

TEST_F(TrainingFaults, TargetsMustBeBoundAndFit) {
    GoldenRun run = on_ranks({});
    Trainer fresh(run.plan);
    run.load(0);
    Answer found = agreed(surrogate_trainer_accumulate(fresh.get(), nullptr));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("target of output 'u' is not bound")) << found;
    const surrogate_array wrong = column(run.target.data(), run.n() + 1);
    found = answer(surrogate_trainer_bind_target(fresh.get(), "u", "m", &wrong));
    EXPECT_EQ(found.status, SURROGATE_SHAPE) << found;
    const surrogate_array right = column(run.target.data(), run.n());
    found = answer(surrogate_trainer_bind_target(fresh.get(), "u", "mm", &right));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
    found = answer(surrogate_trainer_bind_target(fresh.get(), "v", "m", &right));
    EXPECT_EQ(found.status, SURROGATE_UNKNOWN_NAME) << found;
    found = apply(run);
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("nothing was accumulated")) << found;
}

TEST_F(TrainingFaults, ALearningRateThatDivergesStopsAfterItsBadSteps) {
    Settings settings = golden_settings();
    settings["accumulate"] = "1";
    settings.erase("warmup");
    settings["schedule"] = "constant";
    settings["learning_rate"] = "1e30";  // its first step makes weights that overflow
    settings["max_nonfinite_steps"] = "1";
    GoldenRun run = on_ranks({}, settings);
    const std::string path = shared_path("diverging");
    run.trainer.save(path);
    const std::vector<double> before = run.weights();
    const auto step = [&](surrogate_step_report* report) {
        run.load(0);
        return agreed(surrogate_trainer_step(run.trainer.get(), report));
    };
    surrogate_step_report report{};
    EXPECT_EQ(step(&report).status, SURROGATE_SUCCESS);
    EXPECT_EQ(report.was_skipped, 0);
    const std::vector<double> last = run.weights();
    EXPECT_EQ(step(&report).status, SURROGATE_SUCCESS);
    EXPECT_EQ(report.was_skipped, 1);
    EXPECT_EQ(report.step, 1);
    EXPECT_EQ(run.weights(), last);
    const Answer found = step(nullptr);
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(found.says("2 steps in a row (max_nonfinite_steps=1)")) << found;
    EXPECT_EQ(run.weights(), last);
    run.trainer.restore(path);
    EXPECT_EQ(run.weights(), before);
    EXPECT_EQ(step(&report).status, SURROGATE_SUCCESS);
    EXPECT_EQ(report.was_skipped, 0);
    EXPECT_EQ(report.step, 1);
    EXPECT_EQ(run.weights(), last);
}

TEST_F(TrainingFaults, PlansWithoutGradientsCannotTrain) {
    GoldenRun run = on_ranks({});
    Plan plan(run.model, run.domain);
    surrogate_trainer* trainer = nullptr;
    const Answer found = agreed(surrogate_trainer_create(plan.get(), nullptr, nullptr, &trainer));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("gradients=true")) << found;
    EXPECT_EQ(trainer, nullptr);
}

TEST_F(TrainingFaults, RanksMustAgreeOnSettings) {
    if (size_of(world) < 2) GTEST_SKIP() << "one rank agrees with itself";
    GoldenRun run = on_ranks({});
    TrainerOptions training;
    if (is_last) training.set("learning_rate", "0.5");
    surrogate_trainer* trainer = nullptr;
    const Answer found =
        agreed(surrogate_trainer_create(run.plan.get(), nullptr, training.get(), &trainer));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("these differ: training settings")) << found;
}

TEST_F(TrainingFaults, ValidationKeepsTheBestWeights) {
    Settings settings = golden_settings();
    settings.erase("warmup");
    settings["schedule"] = "constant";
    settings["learning_rate"] = "0.3";  // spoils them
    GoldenRun run = on_ranks({{"precision", "fp64"}}, settings);
    const std::string path = shared_path("best");
    const Answer early = agreed(
        surrogate_trainer_save_model(run.trainer.get(), SURROGATE_BEST, nullptr, path.c_str()));
    EXPECT_TRUE(early.says("no validation has ended")) << early;
    const std::vector<double> first = run.weights();
    double sum = 0;
    for (int64_t sample = 0; sample < 3; ++sample) {
        run.load(sample);
        const Trainer::Validation found = run.trainer.validate(1);
        EXPECT_NEAR(found.error[0], found.loss, 1e-14);
        sum += found.loss;
    }
    Trainer::ValidationSummary judgement = run.trainer.end_validation();
    EXPECT_NEAR(judgement.mean_loss, sum / 3, 1e-14);
    EXPECT_TRUE(judgement.is_best);
    run.golden_step(0);
    run.load(0);
    run.trainer.validate(1);
    EXPECT_FALSE(run.trainer.end_validation().is_best);
    run.trainer.save_model(path, WeightSet::best);
    MPI_Barrier(world);
    const Model best(run.context, path);
    const auto values = std::as_const(*best.get()->model->weights()).values();
    for (size_t i = 0; i < first.size(); ++i)
        ASSERT_EQ(values[i], static_cast<float>(first[i])) << i;
    EXPECT_EQ(agreed(surrogate_trainer_end_validation(run.trainer.get(), nullptr, nullptr)).status,
              SURROGATE_INVALID_ARGUMENT);
}

TEST_F(TrainingFaults, RestoringAnotherTrainingListsAllThatDiffers) {
    const std::string path = shared_path("other");
    GoldenRun run = on_ranks({});
    run.golden_step(0);
    run.trainer.save(path);
    Settings settings = golden_settings();
    settings["learning_rate"] = "0.0010";  // the same number
    settings["weight_decay"] = "0.2";
    settings["steps"] = "21";
    settings["ema_decay"] = "0";
    GoldenRun other = on_ranks({{"precision", "fp64"}}, settings);
    const std::vector<double> before = other.weights();
    const Answer found = agreed(surrogate_trainer_restore(other.trainer.get(), path.c_str()));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    for (const char* key : {"weight_decay", "steps", "ema_decay", "precision"})
        EXPECT_TRUE(found.says(std::string("settings.") + key + " is ")) << key << ": " << found;
    EXPECT_FALSE(found.says("learning_rate")) << found;
    EXPECT_EQ(other.weights(), before);
}

TEST_F(TrainingFaults, FilesThatCannotBeWrittenOrReadAreErrorsOfAllRanks) {
    GoldenRun run = on_ranks({});
    Trainer& trainer = run.trainer;
    EXPECT_EQ(agreed(surrogate_trainer_save(trainer.get(), nullptr, "/no/such/folder/x")).status,
              SURROGATE_IO);
    EXPECT_EQ(agreed(surrogate_trainer_restore(trainer.get(), "/no/such/file")).status,
              SURROGATE_IO);
    Answer found = agreed(surrogate_trainer_restore(trainer.get(), is_last ? nullptr : "/no"));
    EXPECT_NE(found.status, SURROGATE_SUCCESS);
    const std::string model = shared_path("no_checkpoint");
    trainer.save_model(model);
    found = agreed(surrogate_trainer_restore(trainer.get(), model.c_str()));
    EXPECT_EQ(found.status, SURROGATE_BAD_FILE);
    EXPECT_TRUE(found.says("is no checkpoint of a training")) << found;
    run.load(0);
    trainer.accumulate();
    found = agreed(surrogate_trainer_save(trainer.get(), nullptr, model.c_str()));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("save after")) << found;
}

TEST_F(TrainingFaults, AnEmptyReservoirHasNoSteps) {
    Settings settings = golden_settings();
    GoldenRun without = on_ranks({}, settings);
    without.load(0);
    EXPECT_TRUE(
        agreed(surrogate_trainer_reservoir_add(without.trainer.get(), nullptr)).says("size 0"));
    settings["reservoir"] = "3";
    GoldenRun run = on_ranks({}, settings);
    EXPECT_TRUE(
        agreed(surrogate_trainer_reservoir_step(run.trainer.get(), 1, nullptr)).says("is empty"));
    run.load(0);
    if (is_last) run.b[0] = NAN;
    const Answer found = agreed(surrogate_trainer_reservoir_add(run.trainer.get(), nullptr));
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
    EXPECT_EQ(run.trainer.counter("samples_offered"), 0);
}

}  // namespace
}  // namespace surrogate::test
