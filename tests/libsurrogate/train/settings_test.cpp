// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/settings.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/refusal.hpp"

namespace surrogate::test {
namespace {

using impl::Recipe;
using impl::TrainingSettings;
using kernels::Status;

Refusal refused(const char* key, const char* value) {
    TrainingSettings settings;
    return refusal([&] { settings.set(key, value); });
}

TEST(TrainingSettings, HaveTheDocumentedDefaults) {
    const Recipe recipe = TrainingSettings().recipe();
    EXPECT_EQ(recipe.loss, impl::LossKind::relative_l2);
    EXPECT_EQ(recipe.schedule, impl::ScheduleKind::constant);
    EXPECT_EQ(recipe.learning_rate, 1e-3);
    EXPECT_EQ(recipe.weight_decay, 1e-5);
    EXPECT_EQ(recipe.beta1, 0.9);
    EXPECT_EQ(recipe.beta2, 0.999);
    EXPECT_EQ(recipe.epsilon, 1e-8);
    EXPECT_EQ(recipe.max_grad_norm, 1);
    EXPECT_EQ(recipe.ema_decay, 0);
    EXPECT_EQ(recipe.warmup, 0);
    EXPECT_EQ(recipe.noise, 0);
    EXPECT_EQ(recipe.accumulate, 1);
    EXPECT_EQ(recipe.max_nonfinite_steps, 0);
    EXPECT_EQ(recipe.optimizer, impl::OptimizerKind::adamw);
    EXPECT_FALSE(recipe.is_nesterov);
    EXPECT_EQ(recipe.gamma, 0.1);
    EXPECT_EQ(recipe.huber_delta, 1);
    EXPECT_EQ(recipe.w11_weight, 0.1);
    EXPECT_EQ(recipe.focal_alpha, 0.25);
    EXPECT_EQ(recipe.focal_gamma, 2);
    EXPECT_FALSE(recipe.decays_all);
    EXPECT_TRUE(recipe.cycles_momentum);
}

TEST(TrainingSettings, WarmupIsAShareOrSteps) {
    TrainingSettings settings;
    settings.set("schedule", "one_cycle");
    settings.set("steps", "100");
    EXPECT_EQ(settings.recipe().warmup, 0.1);
    settings.set("warmup", "1.5");
    EXPECT_TRUE(refusal([&] { settings.recipe(); }).says("fraction of the steps"));
    settings.set("schedule", "cosine");
    EXPECT_TRUE(refusal([&] { settings.recipe(); }).says("number of steps"));
    settings.set("warmup", "101");
    EXPECT_TRUE(refusal([&] { settings.recipe(); }).says("101 steps, and steps only 100"));
    settings.set("warmup", "7");
    EXPECT_EQ(settings.recipe().warmup, 7);
    settings.set("warmup", "0.045");
    EXPECT_EQ(settings.recipe().warmup, 5);
    settings.set("schedule", "constant");
    EXPECT_TRUE(refusal([&] { settings.recipe(); }).says("warmup is 0.045, but it is a number"));
}

TEST(TrainingSettings, ReservoirsNeedALossOfTheTrainer) {
    TrainingSettings settings;
    settings.set("loss", "custom");
    EXPECT_EQ(settings.recipe().loss, impl::LossKind::custom);
    settings.set("reservoir", "3");
    EXPECT_TRUE(refusal([&] { settings.recipe(); }).says("remove 'reservoir'"));
}

TEST(TrainingSettings, KeysThatVersion01DoesNotHaveAreStoredIfTheyAreSet) {
    TrainingSettings settings;
    for (const char* key : {"huber_delta", "label_smoothing", "w11_weight", "focal_alpha",
                            "focal_gamma", "momentum", "nesterov", "gamma"})
        EXPECT_FALSE(settings.stored().contains(key)) << key;
    EXPECT_TRUE(settings.stored().contains("beta2"));
    settings.set("momentum", "0.0");
    EXPECT_FALSE(settings.stored().contains("momentum"));
    settings.set("momentum", "0.9");
    EXPECT_EQ(settings.stored().at("momentum"), "0.9");
}

TEST(TrainingSettings, FocalHasNoLabelSmoothing) {
    TrainingSettings settings;
    settings.set("loss", "focal");
    settings.set("label_smoothing", "0.1");
    const Refusal found = refusal([&] { settings.recipe(); });
    EXPECT_TRUE(found.says("label_smoothing is 0.1, expected 0 with loss=focal")) << found.text;
}

TEST(TrainingSettings, SgdAndStepsNeedTheirNumbers) {
    TrainingSettings settings;
    settings.set("nesterov", "true");
    EXPECT_TRUE(refusal([&] { settings.recipe(); }).says("momentum above 0"));
    settings.set("optimizer", "sgd");
    settings.set("momentum", "0.9");
    EXPECT_EQ(settings.recipe().beta1, 0.9);
    settings.set("schedule", "step");
    EXPECT_TRUE(refusal([&] { settings.recipe(); }).says("step_size"));
}

TEST(TrainingSettings, SchedulesWithAnEndNeedSteps) {
    for (const char* schedule : {"one_cycle", "cosine"}) {
        TrainingSettings settings;
        settings.set("schedule", schedule);
        const Refusal found = refusal([&] { settings.recipe(); });
        EXPECT_EQ(found.status, Status::invalid_argument);
        EXPECT_TRUE(found.says("need 'steps'")) << found.text;
    }
}

TEST(TrainingSettings, UnknownKeysListNearMisses) {
    const Refusal found = refused("learning_rat", "1");
    EXPECT_EQ(found.status, Status::unknown_name);
    EXPECT_TRUE(found.says("did you mean 'learning_rate'")) << found.text;
    EXPECT_TRUE(found.says("max_nonfinite_steps")) << found.text;
}

TEST(TrainingSettings, ValuesAreCheckedWhenSet) {
    const char* const bad[][2] = {
        {"learning_rate", "0"},   {"learning_rate", "1e-3x"}, {"learning_rate", ""},
        {"learning_rate", "nan"}, {"learning_rate", "inf"},   {"weight_decay", "-1"},
        {"beta1", "1"},           {"beta2", "-0.1"},          {"ema_decay", "1.01"},
        {"accumulate", "0"},      {"accumulate", "1.5"},      {"loss", "l2"},
        {"decay_all", "yes"},     {"plateau_factor", "0"},    {"seed", "-1"},
        {"w11_weight", "-1"},     {"focal_alpha", "0"},       {"focal_alpha", "1.1"},
        {"focal_gamma", "-0.5"}};
    for (const auto& [key, value] : bad) {
        const Refusal found = refused(key, value);
        EXPECT_EQ(found.status, Status::invalid_argument) << key << "=" << value;
        EXPECT_TRUE(found.says("expected")) << found.text;
    }
    EXPECT_TRUE(refused("loss", "l2").says("relative_l2, mse")) << refused("loss", "l2").text;
    EXPECT_TRUE(refused("beta1", "1").says("from 0 to below 1")) << refused("beta1", "1").text;
    EXPECT_TRUE(refused("accumulate", "0").says("a whole number from 1 on"));
}

}  // namespace
}  // namespace surrogate::test
