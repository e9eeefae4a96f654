// SPDX-License-Identifier: Apache-2.0
// Plans of HEPT that run the backward pass: the gradients of the stored cases, slopes through
// classes of particles, predictions, bits, memory, bad samples; and the trainer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/libsurrogate/hept/hept_case.hpp"
#include "tests/support/data_path.hpp"
#include "tests/support/family_training.hpp"
#include "tests/support/gradient_run.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

/// A stored case as a solver has it.
struct StoredHits {
    explicit StoredHits(const std::string& name)
        : file(stored_case("hept/" + name)),
          config(impl::hept::parse_config(file.card().at("network"))),
          points(HeptCase::points_of(file, config)),
          x(file.tensor("check/input/x").values) {}

    surrogate_points given() const {
        return {matrix(points.x.data(), points.n(), points.n_axis), points.ids.data(),
                points.clouds.data(), nullptr};
    }
    std::unique_ptr<GradientRun> make(const std::string& name, const GradientWay& way) const {
        return std::make_unique<GradientRun>(stored_case("hept/" + name), given(),
                                             GivenInputs{x, {}}, way);
    }

    const GoldenFile file;
    const impl::hept::Config config;
    const HeptPoints points;
    const std::vector<double> x;
};

class HeptTraining : public testing::TestWithParam<std::string> {
protected:
    MakeRun maker() const {
        return [this](const GradientWay& way) { return hits.make(GetParam(), way); };
    }
    /// Gradients of sum_n (sin(0.7 n) y_n + y_n^2 / 2); relative to the largest entry of each
    /// gradient.
    void expect_stored(const GradientWay& way, double tolerance) const {
        const auto run = hits.make(GetParam(), way);
        ASSERT_TRUE(run->run(
            [](size_t i, double y) { return std::sin(0.7 * static_cast<double>(i)) + y; }));
        const std::string prefix = "check/grad/";
        int n_compared = 0;
        for (const std::string& name : hits.file.names()) {
            if (!name.starts_with(prefix)) continue;
            const std::string weight = name.substr(prefix.size());
            if (weight == "coords") continue;  // the plan has them
            const std::vector<double> expected = hits.file.tensor(name).values;
            const std::vector<double> found = weight == "x" ? run->dx : run->gradient(weight);
            ASSERT_EQ(found.size(), expected.size()) << weight;
            double scale = 0;
            for (const double value : expected) scale = std::max(scale, std::abs(value));
            for (size_t i = 0; i < expected.size(); ++i)
                ASSERT_LE(std::abs(found[i] - expected[i]), tolerance * scale)
                    << weight << " " << i;
            ++n_compared;
        }
        EXPECT_GE(n_compared, 49);
    }

    const StoredHits hits{GetParam()};
};

TEST_P(HeptTraining, GradientsAreTheStoredOnes) {
    expect_stored({}, 1e-7);
    expect_stored({.precision = "fp32", .queue = simd_queue(2)}, 1e-4);
    expect_stored({.precision = "fp32",
                   .reproducible = true,
                   .queue = simd_queue(),
                   .order = impl::GradientOrder::exact},
                  1e-4);
}

TEST_P(HeptTraining, PredictsAsPlansWithoutGradients) {
    expect_predictions_of_plain_plans(maker());
}

TEST_P(HeptTraining, HasTheSameBitsOnAnyThreads) {
    expect_bits_on_any_threads(maker());
}

TEST_P(HeptTraining, AddsUpSamples) {
    expect_samples_add_up(maker());
}

TEST_P(HeptTraining, PoisonsTheSumsOfBadSamples) {
    expect_bad_ranks_poison(maker());
}

TEST_P(HeptTraining, OfNoPointsHasNoGradients) {
    const double nothing = 0;
    const int64_t none = 0;
    GradientRun run(stored_case("hept/" + GetParam()),
                    {matrix(&nothing, 0, hits.points.n_axis), &none, &none, nullptr}, {}, {});
    expect_no_gradients(run);
}

TEST_P(HeptTraining, TakesNoMemory) {
    expect_no_memory(maker());
}

TEST_P(HeptTraining, HasTheSlopesOfItsMasks) {
    expect_dropout(maker());
}

INSTANTIATE_TEST_SUITE_P(Files, HeptTraining,
                         testing::Values("tiny", "odd_zero", "clouds_duplicate", "masked"),
                         [](const auto& name) { return name.param; });

// ---- classes of particles, and the sigmoid ----

class HeptClassTraining : public testing::Test {
protected:
    static double loss(GradientRun& run) {
        EXPECT_TRUE(run.evaluate());
        double sum = 0;
        for (const double y : run.y) sum += y * y / 2;
        return sum;
    }
    const StoredHits hits{"pileup_977"};
};

TEST_F(HeptClassTraining, SlopesOfTheirRowsAreTheGradient) {
    const auto run = hits.make("pileup_977", {});
    ASSERT_TRUE(run->run(half_square));
    const auto& entry = *run->weights().find("pids_enc.weight");
    const std::span<double> rows = run->weights().precise().subspan(
        static_cast<size_t>(entry.first), static_cast<size_t>(entry.size));
    const std::vector<double> gradient = run->gradient("pids_enc.weight");
    const std::vector<double> center(rows.begin(), rows.end());
    const auto at = [&](double step) {
        for (size_t i = 0; i < rows.size(); ++i)
            rows[i] = center[i] + step * std::sin(0.7 * static_cast<double>(i));
        run->weights().refresh();
        return loss(*run);
    };
    const double h = 1e-6, found = (at(h) - at(-h)) / (2 * h);
    double expected = 0;
    for (size_t i = 0; i < rows.size(); ++i)
        expected += gradient[i] * std::sin(0.7 * static_cast<double>(i));
    EXPECT_NE(expected, 0);
    EXPECT_LE(std::abs(found - expected), 1e-6 * std::abs(expected)) << found << " " << expected;
}

TEST_F(HeptClassTraining, SlopesOfFeaturesAreTheGradientAndClassesHaveNone) {
    const auto run = hits.make("pileup_977", {});
    ASSERT_TRUE(run->run(half_square));
    const auto n = static_cast<size_t>(hits.config.in_dim);
    const auto direction = [&](size_t i) {
        return i % n + 1 == n ? 0 : std::sin(0.7 * static_cast<double>(i));
    };
    const auto at = [&](double step) {
        StoredHits moved("pileup_977");
        std::vector<double> x = moved.x;
        for (size_t i = 0; i < x.size(); ++i) x[i] += step * direction(i);
        GradientRun other(stored_case("hept/pileup_977"), moved.given(), GivenInputs{x, {}}, {});
        return loss(other);
    };
    const double h = 1e-6, found = (at(h) - at(-h)) / (2 * h);
    double expected = 0;
    for (size_t i = 0; i < run->dx.size(); ++i) {
        if (i % n + 1 == n) {
            EXPECT_TRUE(std::isnan(run->dx[i])) << i;
        } else {
            expected += run->dx[i] * direction(i);
        }
    }
    EXPECT_NE(expected, 0);
    EXPECT_LE(std::abs(found - expected), 1e-6 * std::abs(expected)) << found << " " << expected;
}

TEST_F(HeptClassTraining, TakesNoMemoryAndPredictsAsPlansWithoutGradients) {
    const MakeRun make = [this](const GradientWay& way) { return hits.make("pileup_977", way); };
    expect_no_memory(make);
    const GradientWay way{.precision = "fp32", .queue = simd_queue(2)};
    const auto run = make(way);
    ASSERT_TRUE(run->evaluate());
    EXPECT_EQ(run->y, run->prediction_without_gradients(way));
}

// ---- dropout ----

/// Predictions of a training sample by the reference in Python of the specification, with masks
/// added to it: seed 7, sample 3, rate 0.1.
TEST(HeptDropout, IsTheOneOfTheSpecification) {
    struct Case {
        std::string name;
        double first, last, sum;  ///< first and last prediction's channel 0; sum of squares
    };
    const Case cases[] = {
        {"tiny", -19.67402714061702, -19.418399087662156, 5339.910231090595},
        {"clouds_duplicate", -0.21953169490255758, -0.5116435433360232, 125.55620648854382},
        {"odd_zero", -1.4203103130534853, 0.367435093060947, 438.3446569483166}};
    for (const Case& c : cases) {
        const StoredHits hits(c.name);
        EXPECT_EQ(hits.config.dropout, 0.1);
        const auto run = hits.make(c.name, {.draw = impl::DropoutDraw{7, 3}});
        ASSERT_TRUE(run->evaluate());
        const auto n = static_cast<size_t>(run->n_out());
        double sum = 0;
        for (const double y : run->y) sum += y * y;
        EXPECT_NEAR(run->y.front(), c.first, 1e-10 * std::abs(c.first)) << c.name;
        EXPECT_NEAR(run->y[run->y.size() - n], c.last, 1e-10 * std::abs(c.last)) << c.name;
        EXPECT_NEAR(sum, c.sum, 1e-10 * c.sum) << c.name;
    }
}

// ---- the trainer ----

TEST(HeptTrainer, LowersTheLossInThreeStepsAndKeepsHashes) {
    const StoredHits hits("odd_zero");
    std::vector<double> targets;
    for (int64_t i = 0; i < hits.points.n() * hits.config.n_out(); ++i)
        targets.push_back(std::sin(0.1 * static_cast<double>(i)));
    FamilyTraining own(hits.file, hits.points.n_axis, hits.given(), hits.x, targets,
                       {{"gradients", "true"}},
                       {{"learning_rate", "1e-3"},
                        {"loss", "mse"},
                        {"weight_decay", "0.1"},
                        {"dropout", "off"},
                        {"decay_all", "true"}});
    expect_steps_lower_the_loss(own);
    for (const std::string name : {"regions", "attns.0.attn.e2lsh.alpha"}) {
        const GoldenTensor stored =
            hits.file.tensor(name == "regions" ? "check/tables/regions" : "check/tables/alpha/0");
        EXPECT_EQ(own.precise(name), stored.values) << name;
    }
}

TEST(HeptTrainer, FollowsPointsThatMove) {
    const StoredHits hits("odd_zero");
    expect_moves_are_followed(
        hits.file, hits.points.x, hits.points.n_axis, hits.points.ids, hits.points.clouds, hits.x,
        std::vector<double>(static_cast<size_t>(hits.points.n() * hits.config.n_out()), 1.0));
}

/// The network of the pileup task ends with a sigmoid: its output is a probability.
TEST(HeptTrainer, FocalLossTakesTheProbabilityOfThePileupTask) {
    json inputs = json::array();
    const auto add = [&](const std::string& name, int axis) {
        inputs.push_back({{"name", name}, {"unit", ""}, {"mean", 0}, {"std", 1}});
        if (axis >= 0) inputs.back().update({{"role", "coordinate"}, {"axis", axis}});
    };
    for (int axis = 0; axis < 4; ++axis) add("c" + std::to_string(axis), axis);
    for (const char* name : {"pt", "class"}) add(name, -1);
    const json card = {{"format", 1},
                       {"family", "hept"},
                       {"network",
                        {{"task", "pileup"},
                         {"in_dim", 2},
                         {"h_dim", 16},
                         {"num_heads", 2},
                         {"n_layers", 1},
                         {"n_hashes", 2},
                         {"block_size", 10},
                         {"num_regions", 9}}},
                       {"inputs", inputs},
                       {"outputs", {{{"name", "leading"}, {"unit", ""}, {"mean", 0}, {"std", 1}}}}};
    const Context context;
    const Model model = initialized_model(context, card.dump(), 1);
    constexpr int64_t n = 50;
    std::vector<double> x, pt, kind, p(n);
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<double>(i);
        for (int axis = 0; axis < 4; ++axis) x.push_back(std::sin(at * (axis + 1.3)));
        pt.push_back(1 + std::cos(at));
        kind.push_back(static_cast<double>(i % 7));
        labels.push_back(i % 9 == 4 ? -100 : pt.back() > 1 ? 1 : 0);
    }
    const Domain domain(context, matrix(x.data(), n, 4));
    Plan plan(model, domain, {{"gradients", "true"}});
    plan.bind_input("pt", column(pt.data(), n));
    plan.bind_input("class", column(kind.data(), n));
    plan.bind_output("leading", column(p.data(), n));
    Trainer trainer(plan, {{"loss", "focal"}, {"learning_rate", "1e-2"}});
    trainer.bind_labels({labels.data(), {n, 1}, {1, 1}, SURROGATE_INT64, SURROGATE_HOST});
    const double first = trainer.validate(1).loss;
    double sum = 0, count = 0;
    for (size_t i = 0; i < p.size(); ++i) {
        if (labels[i] < 0) continue;
        const double c = labels[i] == 1 ? p[i] : 1 - p[i];
        sum -= 0.25 * (1 - c) * (1 - c) * std::log(c);
        count += 1;
    }
    EXPECT_NEAR(first, sum / count, 1e-12);
    for (int i = 0; i < 30; ++i) trainer.step();
    const Trainer::Validation last = trainer.validate(1);
    EXPECT_LT(last.loss, 0.5 * first);
    EXPECT_LT(last.error[0], 0.2);
}

}  // namespace
}  // namespace surrogate::test
