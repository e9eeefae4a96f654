// SPDX-License-Identifier: Apache-2.0
// Training with a loss of the caller's own: forward, derivatives, backward.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/libsurrogate/train/golden_ranks.hpp"
#include "tests/support/answer.hpp"

namespace surrogate::test {
namespace {

constexpr double scale = 0.7;  // of errors, in units of the output

Settings settings_with(const char* loss) {
    Settings settings = golden_settings();
    settings["loss"] = loss;
    return settings;
}

/// The golden training with a loss that this test computes: the mean of ((u - target) / scale)^2.
struct CustomRun {
    explicit CustomRun(const char* partition = "contiguous")
        : run(on_ranks({{"precision", "fp64"}}, settings_with("custom"), partition)),
          derivative(run.rows.size()) {
        run.plan.bind_output("u", column(run.u.data(), run.n()));
        run.trainer.bind_gradient("u", column(derivative.data(), run.n()), "m");
    }
    /// Returns the loss of the predictions in `u`, and fills the derivatives. Collective.
    double loss() {
        double sum = 0;
        for (size_t i = 0; i < derivative.size(); ++i) {
            const double e = run.u[i] - run.target[i];
            sum += e * e / (scale * scale * n_golden_point);
            derivative[i] = 2 * e / (scale * scale * n_golden_point);
        }
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return sum;
    }
    surrogate_step_report golden_step(int64_t step) {
        for (int64_t which = 0; which < 2; ++which) {
            run.load(GoldenRun::golden_sample(step, which));
            run.trainer.forward();
            run.trainer.backward(loss());
        }
        return run.trainer.apply();
    }

    GoldenRun run;
    std::vector<double> derivative;
};

/// The caller's loss is weighted_mse, which the trainer knows: the steps must agree with its own.
TEST(CustomLoss, StepsAreThoseOfTheSameLossOfTheTrainer) {
    for (const char* partition : {"contiguous", "scattered"}) {
        CustomRun custom(partition);
        GoldenRun known =
            on_ranks({{"precision", "fp64"}}, settings_with("weighted_mse"), partition);
        known.trainer.set_scale("u", scale);
        for (int64_t step = 0; step < 5; ++step) {
            const surrogate_step_report expected = known.golden_step(step);
            const surrogate_step_report found = custom.golden_step(step);
            EXPECT_EQ(found.step, expected.step);
            EXPECT_EQ(found.samples, 2);
            EXPECT_NEAR(found.loss / expected.loss, 1, 1e-12);
            EXPECT_NEAR(found.gradient_norm / expected.gradient_norm, 1, 1e-10);
        }
        const std::vector<double> weights = custom.run.weights(), expected = known.weights();
        for (size_t i = 0; i < weights.size(); ++i)
            ASSERT_NEAR(weights[i], expected[i], 1e-9 * (1 + std::abs(expected[i]))) << i;
    }
}

TEST(CustomLoss, IsMissingFromCallsThatComputeIt) {
    CustomRun custom;
    surrogate_trainer* const trainer = custom.run.trainer.get();
    custom.run.load(0);
    for (const surrogate_status status :
         {surrogate_trainer_step(trainer, nullptr), surrogate_trainer_accumulate(trainer, nullptr),
          surrogate_trainer_validate(trainer, nullptr, nullptr)}) {
        const Answer found = answer(status);
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
        EXPECT_TRUE(found.says("loss=custom")) << found;
        EXPECT_TRUE(found.says("surrogate_trainer_forward")) << found;
    }
    custom.golden_step(0);
}

TEST(CustomLoss, CallsAreForThatLossAlone) {
    GoldenRun run = on_ranks({});
    surrogate_trainer* const trainer = run.trainer.get();
    const surrogate_array array = column(run.u.data(), run.n());
    for (const surrogate_status status :
         {surrogate_trainer_forward(trainer), surrogate_trainer_backward(trainer, 0),
          surrogate_trainer_add_validation_loss(trainer, 0),
          surrogate_trainer_bind_gradient(trainer, "u", nullptr, &array)}) {
        const Answer found = answer(status);
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
        EXPECT_TRUE(found.says("loss is 'relative_l2', expected 'custom'")) << found;
    }
}

TEST(CustomLoss, CallsOutOfOrderAreErrorsThatLoseNothing) {
    CustomRun custom, undisturbed;
    surrogate_trainer* const trainer = custom.run.trainer.get();
    Answer found = answer(surrogate_trainer_backward(trainer, 0));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("surrogate_trainer_forward first")) << found;
    found = answer(surrogate_trainer_apply(trainer, nullptr));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    for (int64_t step = 0; step < 2; ++step) {
        const surrogate_step_report a = custom.golden_step(step), b = undisturbed.golden_step(step);
        EXPECT_EQ(a.loss, b.loss);
    }
    EXPECT_EQ(custom.run.weights(), undisturbed.run.weights());
}

/// A derivative that is not finite on one rank is an error on all, and may be corrected.
TEST(CustomLoss, DerivativesMustBeFinite) {
    CustomRun custom, undisturbed;
    surrogate_trainer* const trainer = custom.run.trainer.get();
    custom.run.load(GoldenRun::golden_sample(0, 0));
    custom.run.trainer.forward();
    const double loss = custom.loss();
    const bool is_last = custom.run.context.rank() == custom.run.context.size() - 1;
    double saved = 0;
    if (is_last) saved = std::exchange(custom.derivative.back(), NAN);
    const Answer found = answer(surrogate_trainer_backward(trainer, loss));
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(found.says("gradient with respect to output 'u' is not finite")) << found;
    if (is_last) custom.derivative.back() = saved;
    custom.run.trainer.backward(loss);
    custom.run.load(GoldenRun::golden_sample(0, 1));
    custom.run.trainer.forward();
    custom.run.trainer.backward(custom.loss());
    custom.run.trainer.apply();
    undisturbed.golden_step(0);
    EXPECT_EQ(custom.run.weights(), undisturbed.run.weights());
}

TEST(CustomLoss, OutputsAndDerivativesMustBeBound) {
    GoldenRun run = on_ranks({}, settings_with("custom"));
    run.load(0);
    Answer found = answer(surrogate_trainer_forward(run.trainer.get()));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("output 'u' is not bound")) << found;
    run.plan.bind_output("u", column(run.u.data(), run.n()));
    run.trainer.forward();
    found = answer(surrogate_trainer_backward(run.trainer.get(), 1));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("surrogate_trainer_bind_gradient first")) << found;
    std::vector<double> derivative(run.rows.size());
    const surrogate_array array = column(derivative.data(), run.n());
    found = answer(surrogate_trainer_bind_gradient(run.trainer.get(), "v", nullptr, &array));
    EXPECT_EQ(found.status, SURROGATE_UNKNOWN_NAME);
    found = answer(surrogate_trainer_bind_gradient(run.trainer.get(), "u", "kg", &array));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("kg")) << found;
}

TEST(CustomLoss, ValidationLossesDecideTheBestWeights) {
    CustomRun custom;
    custom.run.trainer.add_validation_loss(2);
    custom.run.trainer.add_validation_loss(4);
    Trainer::ValidationSummary found = custom.run.trainer.end_validation();
    EXPECT_EQ(found.mean_loss, 3);
    EXPECT_TRUE(found.is_best);
    custom.run.trainer.add_validation_loss(3.5);
    found = custom.run.trainer.end_validation();
    EXPECT_FALSE(found.is_best);
}

}  // namespace
}  // namespace surrogate::test
