// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <surrogate/surrogate_train.hpp>
#include <utility>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "tests/support/golden_writer.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {

/// The model of a golden file on points, with fields: coordinates x0, x1 .., inputs f0 .., outputs
/// y0 ..
inline std::string model_with_fields(const GoldenFile& file, int64_t n_axis, int64_t n_in,
                                     int64_t n_out) {
    ModelWriter writer = writer_of(file, "check/tables/");
    const auto field = [](const std::string& name) {
        return nlohmann::json{{"name", name}, {"unit", "1"}, {"mean", 0}, {"std", 1}};
    };
    writer.card["inputs"] = writer.card["outputs"] = nlohmann::json::array();
    for (int64_t axis = 0; axis < n_axis; ++axis) {
        nlohmann::json input = field("x" + std::to_string(axis));
        input.update({{"role", "coordinate"}, {"axis", axis}});
        writer.card["inputs"].push_back(input);
    }
    for (int64_t c = 0; c < n_in; ++c) {
        nlohmann::json input = field("f" + std::to_string(c));
        input["role"] = "field";
        writer.card["inputs"].push_back(input);
    }
    for (int64_t c = 0; c < n_out; ++c)
        writer.card["outputs"].push_back(field("y" + std::to_string(c)));
    return writer.bytes();
}

/// A trainer of such a model, bound to arrays of its own: features [n, n_in], targets [n, n_out].
/// Contexts: of the plan, by default of one rank, and of the trainer, by default the plan's.
struct FamilyTraining {
    FamilyTraining(const GoldenFile& file, int64_t n_axis, const surrogate_points& points,
                   std::vector<double> given, std::vector<double> wanted, const Options& options,
                   const TrainerOptions& settings, const std::optional<Context>& across = {})
        : FamilyTraining(file, n_axis, points, std::ssize(given) / points.x.shape[0], given,
                         std::ssize(wanted) / points.x.shape[0], wanted, options, settings, across,
                         Context()) {}

    FamilyTraining(const GoldenFile& file, int64_t n_axis, const surrogate_points& points,
                   int64_t n_feature, std::vector<double> given, int64_t n_target,
                   std::vector<double> wanted, const Options& options,
                   const TrainerOptions& settings, const std::optional<Context>& across, Context on)
        : n(points.x.shape[0]),
          n_in(n_feature),
          n_out(n_target),
          features(std::move(given)),
          targets(std::move(wanted)),
          disk(model_with_fields(file, n_axis, n_in, n_out)),
          context(std::move(on)),
          model(context, disk.path()),
          domain(context, points),
          plan(model, domain, options),
          trainer(across ? Trainer(plan, *across, settings) : Trainer(plan, settings)) {
        for (int64_t c = 0; c < n_in; ++c)
            plan.bind_input("f" + std::to_string(c), column_at(features, c, n_in));
        for (int64_t c = 0; c < n_out; ++c)
            trainer.bind_target("y" + std::to_string(c), column_at(targets, c, n_out));
    }

    impl::MasterWeights& weights() const { return *model.get()->model->weights(); }
    std::vector<double> precise(const std::string& name) const {
        const auto* const entry = weights().find(name);
        const auto first = weights().precise().begin() + entry->first;
        return {first, first + entry->size};
    }

    const int64_t n, n_in, n_out;
    std::vector<double> features, targets;
    const ModelOnDisk disk;
    Context context;
    Model model;
    Domain domain;
    Plan plan;
    Trainer trainer;

private:
    surrogate_array column_at(std::vector<double>& values, int64_t c, int64_t n_column) const {
        static double none = 0;
        surrogate_array array = matrix(values.empty() ? &none : values.data() + c, n, 1);
        array.stride[0] = n_column;
        return array;
    }
};

/// Five steps of PyTorch's AdamW, as a golden file has traced them: losses, norms and weights.
/// points, targets: of this rank.
inline void expect_golden_trace(const GoldenFile& file, const surrogate_points& points,
                                int64_t n_axis, std::vector<double> targets, Context on = Context(),
                                const char* reproducible = "false") {
    const int64_t n_target = file.tensor("check/input/target").shape.back();
    FamilyTraining own(
        file, n_axis, points, 0, {}, n_target, std::move(targets),
        {{"gradients", "true"}, {"precision", "fp64"}, {"reproducible", reproducible}},
        {{"learning_rate", "1e-3"},
         {"weight_decay", "1e-2"},
         {"decay_all", "true"},
         {"dropout", "off"},  // as the traces were made
         {"max_grad_norm", "0"}},
        {}, std::move(on));
    const std::vector<double> losses = file.tensor("check/trace64/loss").values;
    const std::vector<double> norms = file.tensor("check/trace64/grad_norm").values;
    for (size_t j = 0; j < losses.size(); ++j) {
        const surrogate_step_report report = own.trainer.step();
        EXPECT_NEAR(report.loss, losses[j], 1e-10 * losses[j]) << j;
        EXPECT_NEAR(report.gradient_norm, norms[j], 1e-9 * norms[j]) << j;
    }
    const std::string prefix = "check/final64/";
    int n_compared = 0;
    for (const std::string& name : file.names()) {
        if (!name.starts_with(prefix)) continue;
        const std::vector<double> expected = file.tensor(name).values;
        const std::vector<double> found = own.precise(name.substr(prefix.size()));
        ASSERT_EQ(found.size(), expected.size()) << name;
        // The file has them in single precision. Where a gradient is zero but for rounding, steps
        // of AdamW have a random direction: at most 1e-3 each.
        const double bound =
            name.ends_with("W_k.bias") || name.ends_with("compress_mlp.2.bias") ? 5e-3 : 1e-7;
        for (size_t i = 0; i < expected.size(); ++i)
            EXPECT_NEAR(found[i], expected[i], bound * std::max(1.0, std::abs(expected[i])))
                << name << " " << i;
        ++n_compared;
    }
    EXPECT_GT(n_compared, 20);
}

/// On one rank.
inline void expect_golden_trace(const GoldenFile& file, const surrogate_points& points,
                                int64_t n_axis) {
    expect_golden_trace(file, points, n_axis, file.tensor("check/input/target").values);
}

/// A trainer whose points have moved computes what a new one does, step by step.
inline void expect_moves_are_followed(const GoldenFile& file, const std::vector<double>& positions,
                                      int64_t n_axis, const std::vector<int64_t>& ids,
                                      const std::vector<int64_t>& clouds,
                                      const std::vector<double>& features,
                                      const std::vector<double>& targets) {
    std::vector<double> moved = positions;
    for (double& x : moved) x *= -0.5;
    const auto points = [&](const std::vector<double>& x) {
        return surrogate_points{matrix(x.data(), std::ssize(ids), n_axis), ids.data(),
                                clouds.empty() ? nullptr : clouds.data(), nullptr};
    };
    const auto make = [&](const std::vector<double>& x) {
        return std::make_unique<FamilyTraining>(file, n_axis, points(x), features, targets,
                                                Options{{"gradients", "true"}},
                                                TrainerOptions{{"learning_rate", "1e-3"}});
    };
    const auto own = make(positions), fresh = make(moved);
    const double before = own->trainer.validate(static_cast<int32_t>(own->n_out)).loss;
    own->domain.update_points(points(moved));
    for (int step = 0; step < 2; ++step) {
        const surrogate_step_report found = own->trainer.step(), expected = fresh->trainer.step();
        EXPECT_NE(found.loss, before);
        EXPECT_EQ(found.loss, expected.loss);
        EXPECT_EQ(found.gradient_norm, expected.gradient_norm);
    }
}

/// Three steps in single precision, with mse.
inline void expect_steps_lower_the_loss(FamilyTraining& own) {
    const double before = own.trainer.step().loss;
    own.trainer.step();
    own.trainer.step();
    EXPECT_LT(own.trainer.accumulate(), 0.999 * before);
}

}  // namespace surrogate::test
