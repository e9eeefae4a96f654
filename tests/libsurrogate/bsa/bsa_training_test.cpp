// SPDX-License-Identifier: Apache-2.0
// Plans of Ball Sparse Attention and Erwin that run the backward pass: the gradients of the stored
// cases, predictions, bits, memory, bad samples; and the trainer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/data_path.hpp"
#include "tests/support/family_training.hpp"
#include "tests/support/gradient_run.hpp"
#include "tests/support/sequoia_case.hpp"

namespace surrogate::test {
namespace {

surrogate_points points_of(const SequoiaCase& own) {
    return {matrix(own.positions.data(), own.n, own.n_axis), own.ids.data(), nullptr, nullptr};
}

class BsaTraining : public testing::TestWithParam<std::string> {
protected:
    std::unique_ptr<GradientRun> make(const GradientWay& way) const {
        return std::make_unique<GradientRun>(stored_case("bsa/" + GetParam()), points_of(points),
                                             GivenInputs{points.features, {}}, way);
    }
    MakeRun maker() const {
        return [this](const GradientWay& way) { return make(way); };
    }
    /// The softmax does not see a shift of all coarse keys: that gradient is 0 in truth.
    void expect_stored(const GradientWay& way, double tolerance) const {
        expect_stored_gradients(maker(), file, way, tolerance, "k_compress_mlp.2.bias");
    }

    const GoldenFile file{stored_case("bsa/" + GetParam())};
    const SequoiaCase points{file};
};

TEST_P(BsaTraining, GradientsAreTheStoredOnes) {
    expect_stored({}, 1e-9);
    expect_stored({.precision = "fp32", .queue = simd_queue(2)}, 1e-4);
    expect_stored({.precision = "fp32",
                   .reproducible = true,
                   .queue = simd_queue(2),
                   .order = impl::GradientOrder::exact},
                  1e-4);
}

TEST_P(BsaTraining, PredictsAsPlansWithoutGradients) {
    expect_predictions_of_plain_plans(maker());
}

TEST_P(BsaTraining, HasTheSameBitsOnAnyThreads) {
    expect_bits_on_any_threads(maker());
}

TEST_P(BsaTraining, AddsUpSamples) {
    expect_samples_add_up(maker());
}

TEST_P(BsaTraining, PoisonsTheSumsOfBadSamples) {
    expect_bad_ranks_poison(maker());
}

TEST_P(BsaTraining, OfNoPointsHasNoGradients) {
    const double nothing = 0;
    const int64_t no_id = 0;
    GradientRun run(stored_case("bsa/" + GetParam()),
                    {matrix(&nothing, 0, points.n_axis), &no_id, nullptr, nullptr}, {}, {});
    expect_no_gradients(run);
}

TEST_P(BsaTraining, TakesNoMemory) {
    expect_no_memory(maker());
}

INSTANTIATE_TEST_SUITE_P(Files, BsaTraining,
                         testing::Values("bsa_small_grad", "bsa_group_compression_grad",
                                         "bsa_mean_static_sigma_grad", "bsa_features_rotated_ball",
                                         "erwin_fourier_grad", "erwin_features_grad",
                                         "erwin_linear_grad"),
                         [](const auto& name) { return name.param; });

TEST(BsaTrainer, FollowsTheTraceOfPyTorch) {
    const GoldenFile file(stored_case("bsa/bsa_train"));
    const SequoiaCase points(file);
    expect_golden_trace(file, points_of(points), points.n_axis);
}

TEST(BsaTrainer, LowersTheLossInThreeSteps) {
    const GoldenFile file(stored_case("bsa/bsa_features_rotated_ball"));
    const SequoiaCase points(file);
    std::vector<double> targets;
    for (int64_t i = 0; i < points.n * file.tensor("check/output64/y").shape[1]; ++i)
        targets.push_back(std::sin(0.1 * static_cast<double>(i)));
    FamilyTraining own(file, points.n_axis, points_of(points), points.features, targets,
                       {{"gradients", "true"}}, {{"learning_rate", "1e-3"}, {"loss", "mse"}});
    expect_steps_lower_the_loss(own);
}

TEST(BsaTrainer, FollowsPointsThatMove) {
    const GoldenFile file(stored_case("bsa/bsa_train"));
    const SequoiaCase points(file);
    expect_moves_are_followed(file, points.positions, points.n_axis, points.ids, {}, {},
                              file.tensor("check/input/target").values);
}

TEST(ErwinTrainer, FollowsPointsThatMove) {
    const GoldenFile file(stored_case("bsa/erwin_features_grad"));
    const SequoiaCase points(file);
    std::vector<double> targets(static_cast<size_t>(points.n * 2), 0.3);
    expect_moves_are_followed(file, points.positions, points.n_axis, points.ids, {},
                              points.features, targets);
}

TEST(BsaTrainer, OfASingleLayerIsRefused) {
    const std::string path = stored_case("bsa/erwin_ball_attention_official");
    const SequoiaCase points{GoldenFile(path)};
    const Context context;
    const Model model(context, path);
    const Domain domain = points.domain(context);
    const Options options{{"gradients", "true"}};
    surrogate_plan* plan = nullptr;
    const Answer found = answer(
        surrogate_plan_create(model.get(), domain.get(), domain.get(), options.get(), &plan));
    surrogate_plan_destroy(&plan);
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(found.says("not supported for a single layer")) << found.text;
}

}  // namespace
}  // namespace surrogate::test
