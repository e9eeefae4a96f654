// SPDX-License-Identifier: Apache-2.0
// Training setting sample=cloud: the steps of one domain per cloud, bitwise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <surrogate/surrogate.hpp>
#include <surrogate/surrogate_mpi.hpp>
#include <surrogate/surrogate_train.hpp>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

const std::string flare_card = R"({"format": 1, "family": "flare", "network": {"in_dim": 3,
    "out_dim": 2, "channel_dim": 16, "num_blocks": 2, "num_heads": 2, "num_latents": 8},
    "inputs": [{"name": "x", "unit": "m", "mean": 0, "std": 1, "role": "coordinate", "axis": 0},
        {"name": "speed", "unit": "m/s", "mean": 0, "std": 2, "role": "cloud"},
        {"name": "a", "unit": "1", "mean": 0, "std": 1}],
    "outputs": [{"name": "p", "unit": "1", "mean": 0, "std": 1ROLE},
        {"name": "q", "unit": "1", "mean": 0, "std": 1ROLE}]})";
const std::string sequoia_card = R"({"format": 1, "family": "sequoia", "network": {
    "pos_enc": "none", "dimensionality": 1, "c_in": 1, "num_classes": 1, "transformer_dim": 16,
    "num_head": 2, "head_dim": 16, "transformer_hidden_dim": 16, "num_layers": 1, "k": 4,
    "pooling_mode": "MEAN", "dropout_prob": 0.0},
    "inputs": [{"name": "x", "unit": "m", "mean": 0, "std": 1, "role": "coordinate", "axis": 0},
        {"name": "a", "unit": "1", "mean": 0, "std": 1}],
    "outputs": [{"name": "p", "unit": "1", "mean": 0, "std": 1}]})";

std::string flare(bool has_classes) {
    std::string card = flare_card;
    for (size_t at = card.find("ROLE"); at != std::string::npos; at = card.find("ROLE"))
        card.replace(at, 4, has_classes ? R"(, "role": "class")" : "");
    return card;
}

/// Returns the error of a call.
template <class Call>
Answer error_of(const Call& call) {
    try {
        call();
    } catch (const Error& error) {
        return {error.status(), error.what()};
    }
    return {};
}

/// Points of some clouds, with arrays for a model.
struct Problem {
    Problem(const Context& context, const Model& model, std::vector<int64_t> clouds) {
        const std::vector<int64_t> sizes = {5, 33, 1, 20};
        int64_t first = 0;
        for (int64_t c = 0; c < 4; ++c, first += sizes[static_cast<size_t>(c) - 1]) {
            if (std::ranges::find(clouds, c) == clouds.end()) continue;
            for (int64_t i = first; i < first + sizes[static_cast<size_t>(c)]; ++i) {
                const auto at = static_cast<double>(i);
                id.push_back(i);
                cloud.push_back(std::ranges::find(clouds, c) - clouds.begin());
                x.push_back(std::fmod(0.37 * at, 1.0));
                a.push_back(std::sin(at));
                label.push_back(i % 5 == 1 ? -100 : i % 2);
                weight.push_back(1 + std::cos(at));
            }
            speed.push_back(1.5 + static_cast<double>(c));
        }
        surrogate_points points{};
        points.x = matrix(x.data(), std::ssize(x), 1);
        points.global_id = id.data();
        if (clouds.size() > 1) points.cloud = cloud.data();
        domain = std::make_unique<Domain>(context, points);
        plan = std::make_unique<Plan>(
            model, *domain,
            Options{{"gradients", "true"}, {"reproducible", "true"}, {"threads", "2"}});
        plan->bind_input("a", column(a.data(), std::ssize(a)));
        if (model.inputs().size() == 3)
            plan->bind_input("speed", column(speed.data(), std::ssize(speed)));
        is_pooled = model.outputs().size() == 1;
        for (const double v : is_pooled ? speed : a) target.push_back(0.3 + v * v);
    }
    void bind(Trainer& trainer, bool has_classes, bool has_weights) {
        const auto n = std::ssize(target);
        if (has_classes) {
            trainer.bind_labels(column(label.data(), n));
        } else {
            trainer.bind_target("p", column(target.data(), n));
            if (!is_pooled) trainer.bind_target("q", column(a.data(), n));
        }
        if (has_weights) trainer.set_point_weights(column(weight.data(), n));
    }
    bool is_pooled = false;
    std::vector<int64_t> id, cloud, label;
    std::vector<double> x, a, speed, weight, target;
    std::unique_ptr<Domain> domain;
    std::unique_ptr<Plan> plan;
};

TEST(SamplesThatAreClouds, GiveTheStepsOfOneDomainEach) {
    struct Case {
        std::string card, loss;
        bool has_weights = false;
    };
    for (const Case& one :
         {Case{flare(false), "relative_l2"}, Case{flare(false), "weighted_mse", true},
          Case{flare(false), "huber"}, Case{flare(false), "mse"},
          Case{flare(true), "cross_entropy"}, Case{sequoia_card, "mse"}}) {
        SCOPED_TRACE(one.loss);
        const bool has_classes = one.loss == "cross_entropy";
        const Context self;
        const std::vector<std::vector<int64_t>> groups = {{0, 1}, {2, 3}};
        TrainerOptions options{{"loss", one.loss}, {"accumulate", "4"}};
        // One domain per cloud: the points of the domain are updated, as a data set's samples.
        const auto train = [&](bool by_cloud) {
            const Model model = initialized_model(self, one.card.c_str(), 1);
            if (by_cloud) options.set("sample", "cloud");
            std::vector<double> steps;
            std::vector<std::vector<int64_t>> samples;
            for (int64_t c = 0; c < 4 && !by_cloud; ++c) samples.push_back({c});
            if (by_cloud) samples = groups;
            Problem own(self, model, samples[0]);
            Trainer trainer(*own.plan, options);
            surrogate_step_report report{};
            for (int step = 0; step < 3; ++step) {
                for (const auto& clouds : samples) {
                    Problem next(self, model, clouds);
                    surrogate_points points{};
                    points.x = matrix(next.x.data(), std::ssize(next.x), 1);
                    points.global_id = next.id.data();
                    if (by_cloud) points.cloud = next.cloud.data();
                    own.domain->update_points(points);
                    own.plan->bind_input("a", column(next.a.data(), std::ssize(next.a)));
                    if (model.inputs().size() == 3)
                        own.plan->bind_input("speed",
                                             column(next.speed.data(), std::ssize(next.speed)));
                    next.bind(trainer, has_classes, one.has_weights);
                    report = trainer.step();
                }
                steps.insert(steps.end(), {report.loss, report.gradient_norm});
            }
            EXPECT_EQ(report.samples, 4);
            return steps;
        };
        EXPECT_EQ(train(true), train(false));
    }
}

TEST(SamplesThatAreClouds, NeedOneRankAndPointsInTheOrderOfTheirClouds) {
    const Context self;
    const Model model = initialized_model(self, flare(false).c_str(), 1);
    Problem problem(self, model, {0, 1});
    {
        Trainer trainer(*problem.plan, TrainerOptions{{"sample", "cloud"}});
        problem.bind(trainer, false, false);
        std::swap(problem.cloud.front(), problem.cloud.back());
        surrogate_points points{};
        points.x = matrix(problem.x.data(), std::ssize(problem.x), 1);
        points.global_id = problem.id.data();
        points.cloud = problem.cloud.data();
        problem.domain->update_points(points);
        const Answer found = error_of([&] { trainer.step(); });
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
        EXPECT_TRUE(found.says("is of cloud 1, and the point before of cloud -1")) << found;
    }
    const auto refused = [&](Plan& plan, const TrainerOptions& options) {
        return error_of([&] { const Trainer trainer(plan, options); });
    };
    for (const char* loss : {"gradient_l2", "infonce", "custom"}) {
        const Answer found = refused(*problem.plan, {{"sample", "cloud"}, {"loss", loss}});
        EXPECT_TRUE(found.says("sample=cloud and loss=" + std::string(loss))) << found;
    }
    if (size_of(world) == 1) return;
    const Context all = mpi_context(world);
    const Model shared = initialized_model(all, flare(false).c_str(), 1);
    Problem spread(all, shared, {rank_of(world) % 4});
    const Answer found = refused(*spread.plan, {{"sample", "cloud"}});
    EXPECT_TRUE(found.says("expected 1 for sample=cloud")) << found;
}

}  // namespace
}  // namespace surrogate::test
