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

/// Predictions of a training sample by the reference in Python of the specification, with masks
/// added to it as the code of the authors has them: seed 7, sample 3, rate 0.1.
TEST(SequoiaDropout, IsWhereTheReferenceHasIt) {
    struct Case {
        std::string name;
        double first, last, sum;  ///< of the predictions; sum of squares
    };
    const Case cases[] = {
        {"points_small_grad", -0.23405188187087866, -0.7471759239625885, 33.098696129054204},
        {"points_features_grad", 0.10997206246035619, 0.6594981737751667, 382.5863540719638},
        {"sequence_grad", -0.6291346465385232, -0.7714026517518391, 1.509122182738103}};
    for (const Case& c : cases) {
        const SequoiaCase points{GoldenFile(stored_case("sequoia/" + c.name))};
        GradientRun run(stored_case("sequoia/" + c.name),
                        {matrix(points.positions.data(), points.n, points.n_axis),
                         points.ids.data(), nullptr, nullptr},
                        {points.features, points.tokens}, {.draw = impl::DropoutDraw{7, 3}});
        ASSERT_TRUE(run.evaluate());
        double sum = 0;
        for (const double y : run.y) sum += y * y;
        EXPECT_NEAR(run.y.front(), c.first, 1e-10) << c.name;
        EXPECT_NEAR(run.y.back(), c.last, 1e-10) << c.name;
        EXPECT_NEAR(sum, c.sum, 1e-10 * c.sum) << c.name;
    }
}

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
