// SPDX-License-Identifier: Apache-2.0
// Plans of Sequoia that run the backward pass: the gradients of the stored cases, predictions,
// bits, memory, bad samples; and the trainer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/data_path.hpp"
#include "tests/support/family_training.hpp"
#include "tests/support/gradient_run.hpp"
#include "tests/support/sequoia_case.hpp"

namespace surrogate::test {
namespace {

class SequoiaTraining : public testing::TestWithParam<std::string> {
protected:
    std::unique_ptr<GradientRun> make(const GradientWay& way) const {
        const surrogate_points given{matrix(points.positions.data(), points.n, points.n_axis),
                                     points.ids.data(), nullptr, nullptr};
        return std::make_unique<GradientRun>(stored_case("sequoia/" + GetParam()), given,
                                             GivenInputs{points.features, points.tokens}, way);
    }
    MakeRun maker() const {
        return [this](const GradientWay& way) { return make(way); };
    }
    void expect_stored(const GradientWay& way, double tolerance) const {
        expect_stored_gradients(maker(), file, way, tolerance, "W_k.bias");
    }

    const GoldenFile file{stored_case("sequoia/" + GetParam())};
    const SequoiaCase points{file};
};

TEST_P(SequoiaTraining, GradientsAreTheStoredOnes) {
    expect_stored({}, 1e-9);
    expect_stored({.precision = "fp32", .queue = simd_queue(2)}, 1e-5);
    expect_stored({.precision = "fp32",
                   .reproducible = true,
                   .queue = simd_queue(),
                   .order = impl::GradientOrder::exact},
                  1e-5);
}

TEST_P(SequoiaTraining, PredictsAsPlansWithoutGradients) {
    expect_predictions_of_plain_plans(maker());
}

TEST_P(SequoiaTraining, HasTheSameBitsOnAnyThreads) {
    expect_bits_on_any_threads(maker());
}

TEST_P(SequoiaTraining, AddsUpSamples) {
    expect_samples_add_up(maker());
}

TEST_P(SequoiaTraining, PoisonsTheSumsOfBadSamples) {
    expect_bad_ranks_poison(maker());
}

TEST_P(SequoiaTraining, OfNoPointsHasNoGradients) {
    const double nothing = 0;
    const int64_t no_id = 0;
    GradientRun run(stored_case("sequoia/" + GetParam()),
                    {matrix(&nothing, 0, points.n_axis), &no_id, nullptr, nullptr}, {}, {});
    // The mean of no tokens is NaN, and has no gradient.
    if (points.tokens.empty()) {
        expect_no_gradients(run);
    } else {
        EXPECT_FALSE(run.run(half_square));
    }
}

TEST_P(SequoiaTraining, TakesNoMemory) {
    expect_no_memory(maker());
}

TEST_P(SequoiaTraining, HasTheSlopesOfItsMasks) {
    expect_dropout(maker());
}

INSTANTIATE_TEST_SUITE_P(Files, SequoiaTraining,
                         testing::Values("points_small_grad", "points_features_grad",
                                         "sequence_grad"),
                         [](const auto& name) { return name.param; });

TEST(SequoiaTrainer, FollowsTheTraceOfPyTorch) {
    const GoldenFile file(stored_case("sequoia/points_train"));
    const SequoiaCase points(file);
    expect_golden_trace(file,
                        {matrix(points.positions.data(), points.n, points.n_axis),
                         points.ids.data(), nullptr, nullptr},
                        points.n_axis);
}

TEST(SequoiaTrainer, LowersTheLossInThreeSteps) {
    const GoldenFile file(stored_case("sequoia/points_features_grad"));
    const SequoiaCase points(file);
    std::vector<double> targets;
    for (int64_t i = 0; i < points.n * file.tensor("check/output64/y").shape[1]; ++i)
        targets.push_back(std::sin(0.1 * static_cast<double>(i)));
    FamilyTraining own(file, points.n_axis,
                       {matrix(points.positions.data(), points.n, points.n_axis), points.ids.data(),
                        nullptr, nullptr},
                       points.features, targets, {{"gradients", "true"}},
                       {{"learning_rate", "1e-3"}, {"loss", "mse"}, {"dropout", "off"}});
    expect_steps_lower_the_loss(own);
}

TEST(SequoiaTrainer, FollowsPointsThatMove) {
    const GoldenFile file(stored_case("sequoia/points_train"));
    const SequoiaCase points(file);
    expect_moves_are_followed(file, points.positions, points.n_axis, points.ids, {}, {},
                              file.tensor("check/input/target").values);
}

}  // namespace
}  // namespace surrogate::test
