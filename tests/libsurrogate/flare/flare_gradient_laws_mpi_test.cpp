// SPDX-License-Identifier: Apache-2.0
// Properties of the gradients of any FLARE on any ranks: derivatives, bitwise equality, memory, and
// NaN without waiting ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "kernels/flare/flare.hpp"
#include "tests/libsurrogate/flare/flare_gradients.hpp"
#include "tests/support/data_path.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/model_parts.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// So many points, or as many tokens as the model takes.
int64_t at_most(const std::string& name, int64_t n) {
    return std::min(
        n, GoldenFile(stored_case("flare/" + name)).card().at("network").value("max_length", n));
}

std::vector<int64_t> all_rows(int64_t n) {
    std::vector<int64_t> rows(static_cast<size_t>(n));
    std::iota(rows.begin(), rows.end(), int64_t{0});
    return rows;
}

const GradientWay exact_single{.precision = "fp32",
                               .reproducible = true,
                               .queue = simd(),
                               .order = impl::GradientOrder::exact};

// ---- slopes ----

class FlareGradientSlope : public testing::TestWithParam<std::string> {
protected:
    /// sum of dy y over all points; a prediction that all ranks have counts once.
    double value(FlareGradients& own) const {
        own.evaluate();
        if (own.is_pooled() && rank_of(world) > 0) own.y.assign(own.y.size(), 0);
        return context.reduce(SURROGATE_SUM,
                              std::inner_product(own.dy.begin(), own.dy.end(), own.y.begin(), 0.0));
    }

    const Context context = mpi_context(world);
    const Model model{context, stored_case("flare/" + GetParam())};
};

/// Along one direction in the space of all weights.
TEST_P(FlareGradientSlope, AlongWeightsIsTheGradient) {
    const int64_t n = at_most(GetParam(), 70);
    FlareGradients own(context, model, own_rows("scattered", n, world), {});
    ASSERT_TRUE(own.run());
    impl::MasterWeights& weights = *model.get()->model->weights();
    const std::vector<double> center(weights.precise().begin(), weights.precise().end());
    const auto direction = [](size_t i) { return std::sin(0.7 * static_cast<double>(i)); };
    const auto at = [&](double step) {
        for (const auto& entry : weights.entries()) {
            for (int64_t i = entry.first; i < entry.first + entry.size; ++i)
                weights.precise()[static_cast<size_t>(i)] =
                    center[static_cast<size_t>(i)] + step * direction(static_cast<size_t>(i));
        }
        weights.refresh();
        return value(own);
    };
    const double h = 1e-5, found = (at(h) - at(-h)) / (2 * h);
    double expected = 0;
    for (size_t i = 0; i < own.sums.total().size(); ++i)
        expected += own.sums.total()[i] * direction(i);
    EXPECT_LE(std::abs(found - expected), 1e-6 * std::abs(expected)) << found << " " << expected;
}

INSTANTIATE_TEST_SUITE_P(Files, FlareGradientSlope,
                         testing::Values("tiny", "tiny_options", "layers", "ablation_shared",
                                         "ablation_latent_blocks", "physicsnemo_ratio2",
                                         "lra_mean_sin", "lra_tokens_mask", "sequence_cls_abs",
                                         "sequence_max_rope", "sequence_mean_mask"),
                         [](const auto& name) { return name.param; });

// ---- dropout ----

class FlareDropout : public testing::TestWithParam<std::string> {
protected:
    static bool is_physicsnemo() { return GetParam().starts_with("physicsnemo"); }
    /// The model with rates on its card.
    static Model model_on(const Context& context) {
        ModelParts<float> parts(stored_case("flare/" + GetParam()));
        nlohmann::json& network = parts.card["network"];
        if (is_physicsnemo()) {
            network["dropout"] = 0.3;
        } else {
            for (const char* key : {"emb_drop", "cls_drop", "proj_drop"}) network[key] = 0.3;
            network["attn_drop"] = 0;
        }
        return Model(context, parts.card.dump(), parts.tensors());
    }
    double value(FlareGradients& own) const {
        EXPECT_TRUE(own.evaluate());
        if (own.is_pooled() && rank_of(world) > 0) own.y.assign(own.y.size(), 0);
        return context.reduce(SURROGATE_SUM,
                              std::inner_product(own.dy.begin(), own.dy.end(), own.y.begin(), 0.0));
    }

    const int64_t n = at_most(GetParam(), 70);
    const std::optional<impl::DropoutDraw> draw = impl::DropoutDraw{7, 3};
    const Context context = mpi_context(world), self;
    const Model model = model_on(context), alone = model_on(self);
};

TEST_P(FlareDropout, HasTheSlopesOfItsMasks) {
    for (const bool saves_less : {false, true}) {
        FlareGradients own(context, model, own_rows("scattered", n, world),
                           {.saves_less = saves_less, .draw = draw});
        ASSERT_TRUE(own.run());
        impl::MasterWeights& weights = *model.get()->model->weights();
        const std::vector<double> center(weights.precise().begin(), weights.precise().end());
        const auto direction = [](size_t i) { return std::sin(0.7 * static_cast<double>(i)); };
        for (const auto& entry : weights.entries()) {
            if (entry.name == "time_embed.freqs") continue;  // not trained
            const auto begin = static_cast<size_t>(entry.first);
            const auto count = static_cast<size_t>(entry.size);
            const auto at = [&](double step) {
                for (size_t i = 0; i < count; ++i)
                    weights.precise()[begin + i] = center[begin + i] + step * direction(i);
                weights.refresh();
                return value(own);
            };
            const double h = 1e-5, found = (at(h) - at(-h)) / (2 * h);
            at(0);
            double expected = 0, size = 0;
            for (size_t i = 0; i < count; ++i) {
                expected += own.sums.total()[begin + i] * direction(i);
                size += std::abs(own.sums.total()[begin + i] * direction(i));
            }
            EXPECT_NEAR(found, expected, 1e-6 * size + 1e-7) << entry.name;
        }
    }
}

TEST_P(FlareDropout, HasTheBitsOfOneRank) {
    const auto way_of = [&](int n_thread, kernels::VectorLevel level, bool saves_less) {
        GradientWay way = exact_single;
        way.queue = simd(n_thread, level);
        way.saves_less = saves_less;
        way.draw = draw;
        return way;
    };
    const kernels::VectorLevel best = kernels::best_vector_level();
    FlareGradients whole(self, alone, all_rows(n), way_of(1, best, false));
    ASSERT_TRUE(whole.run());
    for (const GradientWay& way : {way_of(1, best, false), way_of(2, best, true),
                                   way_of(2, kernels::VectorLevel::scalar, false)}) {
        FlareGradients own(context, model, own_rows("scattered", n, world), way);
        ASSERT_TRUE(own.run());
        EXPECT_EQ(own.total(), whole.total());
        if (own.is_pooled()) {
            EXPECT_EQ(own.y, whole.y);
        }
    }
}

TEST_P(FlareDropout, IsForASampleAlone) {
    FlareGradients own(context, model, own_rows("uneven", n, world),
                       {.precision = "fp32", .queue = simd(), .draw = draw});
    own.evaluate();
    const std::vector<double> dropped = own.y;
    own.program->set_dropout({});
    own.evaluate();
    if (!own.y.empty()) {
        EXPECT_NE(own.y, dropped);
    }
    EXPECT_EQ(own.y, own.prediction_without_gradients({.precision = "fp32", .queue = simd()}));
}

INSTANTIATE_TEST_SUITE_P(Files, FlareDropout,
                         testing::Values("physicsnemo_time", "lra_mean_sin", "lra_tokens_mask",
                                         "sequence_cls_abs", "sequence_max_rope"),
                         [](const auto& name) { return name.param; });

class FlareInputSlope : public FlareGradientSlope {};

TEST_P(FlareInputSlope, IsTheGradient) {
    FlareGradients own(context, model, own_rows("uneven", 37, world), {});
    ASSERT_TRUE(own.run());
    const std::vector<double> center = own.x;
    const auto at = [&](double step) {
        for (int64_t i = 0; i < own.n(); ++i)
            for (int64_t c = 0; c < own.n_in(); ++c) {
                const auto e = static_cast<size_t>(i * own.n_in() + c);
                own.x[e] = center[e] + step * std::cos(static_cast<double>(3 * own.row(i) + c));
            }
        return value(own);
    };
    const double h = 1e-5, found = (at(h) - at(-h)) / (2 * h);
    double expected = 0;
    for (int64_t i = 0; i < own.n(); ++i)
        for (int64_t c = 0; c < own.n_in(); ++c)
            expected += own.dx[static_cast<size_t>(i * own.n_in() + c)] *
                        std::cos(static_cast<double>(3 * own.row(i) + c));
    expected = context.reduce(SURROGATE_SUM, expected);
    EXPECT_LE(std::abs(found - expected), 1e-6 * std::abs(expected)) << found << " " << expected;
}

INSTANTIATE_TEST_SUITE_P(Files, FlareInputSlope,
                         testing::Values("tiny", "tiny_options", "layers", "ablation_shared",
                                         "ablation_latent_blocks", "physicsnemo_ratio2",
                                         "physicsnemo_time"),
                         [](const auto& name) { return name.param; });

// ---- bits ----

class FlareGradientBits : public testing::TestWithParam<std::string> {
protected:
    /// More than two chunks, the last one not full.
    const int64_t n = at_most(GetParam(), 2 * kernels::flare::chunk_points + 77);
    const Context context = mpi_context(world), self;
    const Model model{context, stored_case("flare/" + GetParam())},
        alone{self, stored_case("flare/" + GetParam())};
};

TEST_P(FlareGradientBits, InReproduciblePlansDependOnNothing) {
    const TrapGuard traps;
    FlareGradients whole(self, alone, all_rows(n), exact_single);
    ASSERT_TRUE(whole.run());
    std::vector<GradientWay> ways = {exact_single, exact_single, exact_single};
    ways[1].queue = simd(3, kernels::VectorLevel::scalar);
    ways[2].queue = simd(2);
    ways[2].saves_less = true;
    const char* const partitions[] = {"contiguous", "scattered", "uneven"};
    for (size_t w = 0; w < ways.size(); ++w) {
        FlareGradients own(context, model, own_rows(partitions[w], n, world), ways[w]);
        ASSERT_TRUE(own.run());
        EXPECT_EQ(own.total(), whole.total()) << w;
        for (int64_t i = 0; i < own.n() * own.n_in(); ++i)
            ASSERT_EQ(
                own.dx[static_cast<size_t>(i)],
                whole
                    .dx[static_cast<size_t>(own.row(i / own.n_in()) * own.n_in() + i % own.n_in())])
                << w << " " << i;
    }
}

/// A weight whose stage ended too early would lack what came later.
TEST_P(FlareGradientBits, OfWeightsThatTravelEarlyAreTheSame) {
    FlareGradients own(context, model, own_rows("uneven", n, world), exact_single);
    ASSERT_TRUE(own.run());
    const std::vector<int> stages = own.program->weight_stages();
    impl::GradientSums parts(*model.get()->model->weights(), 1, impl::GradientOrder::exact, stages,
                             1);
    own.evaluate();
    parts.begin(own.comm());
    ASSERT_TRUE(own.program->backward(columns_of(own.dy, own.n_out()),
                                      columns_of(own.dx, own.n_in()), true, parts));
    own.comm().reset_counters();
    ASSERT_TRUE(parts.reduce(own.comm()));
    EXPECT_EQ(own.comm().n_collective(), 3);
    EXPECT_TRUE(std::ranges::equal(parts.total(), own.total()));
    EXPECT_EQ(parts.collectives(), 2 * (1 + *std::ranges::max_element(stages)));
}

TEST_P(FlareGradientBits, AreThoseOfPlansThatSaveMore) {
    const std::vector<int64_t> rows = own_rows("scattered", at_most(GetParam(), 300), world);
    for (const char* precision : {"fp32", "fp64"}) {
        GradientWay way{.precision = precision, .queue = simd()};
        if (way.precision == "fp64") way.queue = {};
        FlareGradients more(context, model, rows, way);
        way.saves_less = true;
        FlareGradients less(context, model, rows, way);
        ASSERT_TRUE(more.run());
        ASSERT_TRUE(less.run());
        EXPECT_EQ(more.y, less.y);
        EXPECT_EQ(more.dx, less.dx);
        EXPECT_EQ(more.total(), less.total());
        // A rank may have none of the tokens of a short sequence.
        EXPECT_GE(more.program->bytes(), less.program->bytes());
        const int64_t saved = more.program->bytes() - less.program->bytes();
        EXPECT_GT(context.reduce(SURROGATE_SUM, static_cast<double>(saved)), 0);
    }
}

TEST_P(FlareGradientBits, OfPredictionsAreThoseOfPlansWithoutGradients) {
    const std::vector<int64_t> rows = own_rows("uneven", at_most(GetParam(), 1100), world);
    for (const bool saves_less : {false, true}) {
        for (const bool reproducible : {false, true}) {
            const GradientWay way{.precision = "fp32",
                                  .reproducible = reproducible,
                                  .saves_less = saves_less,
                                  .queue = simd(2)};
            FlareGradients own(context, model, rows, way);
            own.evaluate();
            EXPECT_EQ(own.y, own.prediction_without_gradients(way));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Files, FlareGradientBits,
                         testing::Values("tiny_options", "odd", "ablation_shared",
                                         "ablation_latent_blocks", "physicsnemo_small",
                                         "physicsnemo_time", "lra_mean_sin", "lra_tokens_mask",
                                         "sequence_cls_abs", "sequence_max_rope",
                                         "sequence_mean_mask"),
                         [](const auto& name) { return name.param; });

// ---- memory and traffic ----

class FlareGradientMemory : public testing::TestWithParam<std::string> {};

TEST_P(FlareGradientMemory, IsTakenByThePlanAlone) {
    const Context context = mpi_context(world);
    const Model model(context, stored_case("flare/" + GetParam()));
    for (const bool reproducible : {false, true}) {
        GradientWay way = exact_single;
        way.reproducible = reproducible;
        way.queue = simd(2);
        FlareGradients own(context, model, own_rows("scattered", at_most(GetParam(), 1500), world),
                           way);
        ASSERT_TRUE(own.run());  // the first run may make threads
        const std::vector<impl::Column> x = own.inputs(), y = columns_of(own.y, own.n_out()),
                                        dy = columns_of(own.dy, own.n_out()),
                                        dx = columns_of(own.dx, own.n_in());
        impl::OutsideCounts outside(2, std::ssize(x));
        const MemoryMeter meter;
        own.sums.clear();
        own.program->gather(x, outside);
        own.program->evaluate(true);
        own.program->scatter(y, true);
        own.program->backward(dy, dx, true, own.sums);
        own.reduce();
        EXPECT_EQ(meter.n_allocation(), 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Files, FlareGradientMemory,
                         testing::Values("tiny_options", "ablation_latent_blocks",
                                         "physicsnemo_time", "lra_tokens_mask",
                                         "sequence_max_rope"),
                         [](const auto& name) { return name.param; });

/// A block adds the memory of its activations: at C = 64, less than 1.5 KB a point in float.
TEST(FlareGradientStreams, GrowWithPoints) {
    const Context self;
    const Model model(self, stored_case("flare/mid"));  // C = 64, H = 8, two blocks
    for (const bool saves_less : {false, true}) {
        GradientWay way{.precision = "fp32", .saves_less = saves_less, .queue = simd()};
        const auto bytes = [&](int64_t n) {
            return FlareGradients(self, model, all_rows(n), way).program->bytes();
        };
        const int64_t per_point = (bytes(16384 + 6400) - bytes(16384)) / 6400;
        const int64_t c = 64, h = 8, blocks = 2, ports = 2 * 4 * (2 + 1);
        const int64_t streams = 4 * c * (saves_less ? blocks + 3 : 3 * blocks + 1);
        EXPECT_EQ(per_point, streams + 4 * 3 * h + ports);
        EXPECT_LT(per_point, blocks * 1536);
    }
}

TEST(FlareGradientTraffic, IsWhatTheNoteSays) {
    const Context context = mpi_context(world);
    const Model model(context, stored_case("flare/odd"));  // two blocks
    for (const bool reproducible : {false, true}) {
        GradientWay way = exact_single;
        way.reproducible = reproducible;
        FlareGradients own(context, model, own_rows("contiguous", 500, world), way);
        own.evaluate();
        own.comm().reset_counters();
        own.program->backward(columns_of(own.dy, own.n_out()), {}, true, own.sums);
        const int64_t exchanges = reproducible ? 1 : 0;
        const int64_t sent = own.comm().bytes_sent() - exchanges * own.n() * own.n_out() * 4;
        const int64_t calls = own.comm().n_collective() - exchanges;
        const std::string note = own.program->notes().back();
        EXPECT_NE(note.find("sends " + std::to_string(sent) + " bytes in " + std::to_string(calls) +
                            " collectives"),
                  std::string::npos)
            << note << " " << sent << " " << calls;
        EXPECT_EQ(calls, reproducible ? 4 : 2);
    }
}

/// Backward of the maximum over all tokens: ranks determine which of them has it.
TEST(FlareGradientTraffic, OfASequenceIsWhatTheNoteSays) {
    const Context context = mpi_context(world);
    const Model model(context, stored_case("flare/sequence_max_rope"));  // two blocks
    FlareGradients own(context, model, own_rows("uneven", 70, world), {});
    own.evaluate();
    own.comm().reset_counters();
    own.program->backward(columns_of(own.dy, own.n_out()), {}, true, own.sums);
    const std::string note = own.program->notes().back();
    EXPECT_NE(note.find("sends " + std::to_string(own.comm().bytes_sent()) + " bytes in 3 col"),
              std::string::npos)
        << note << " " << own.comm().bytes_sent();
    EXPECT_EQ(own.comm().n_collective(), 3);
}

// ---- failed ranks ----

class FlareGradientTrouble : public testing::TestWithParam<bool> {
protected:
    const GradientWay way_{
        .precision = "fp32",
        .reproducible = GetParam(),
        .queue = simd(),
        .order = GetParam() ? impl::GradientOrder::exact : impl::GradientOrder::single};
    const Context context_ = mpi_context(world);
    const Model model_{context_, stored_case("flare/tiny")};
    FlareGradients own_{context_, model_, own_rows("contiguous", 90, world), way_};
    const bool is_culprit_ = rank_of(world) == size_of(world) - 1;
};

TEST_P(FlareGradientTrouble, OfOneRankIsKnownToAllAndForgotten) {
    ASSERT_TRUE(own_.run());
    const std::vector<double> good = own_.total();
    for (const double bad : {static_cast<double>(NAN), std::numeric_limits<double>::infinity()}) {
        const TrapGuard traps;
        const double kept = own_.dy.back();
        if (is_culprit_) own_.dy.back() = bad;
        own_.sums.clear();
        own_.evaluate();
        EXPECT_FALSE(own_.backward());
        EXPECT_FALSE(own_.reduce());
        for (const double dx : own_.dx) EXPECT_TRUE(std::isnan(dx));
        own_.dy.back() = kept;
    }
    ASSERT_TRUE(own_.run());
    EXPECT_EQ(own_.total(), good);
}

TEST_P(FlareGradientTrouble, OfTheEvaluationLeavesNoGradient) {
    if (is_culprit_) own_.x.front() = NAN;
    const TrapGuard traps;
    own_.sums.clear();
    EXPECT_FALSE(own_.evaluate());
    EXPECT_FALSE(own_.backward(false));
    EXPECT_FALSE(own_.reduce());
}

TEST_P(FlareGradientTrouble, OfARankThatSaysSoIsKnownToAll) {
    own_.sums.clear();
    EXPECT_TRUE(own_.evaluate());
    EXPECT_FALSE(own_.backward(!is_culprit_));
    EXPECT_FALSE(own_.reduce());
}

INSTANTIATE_TEST_SUITE_P(, FlareGradientTrouble, testing::Bool(), [](const auto& reproducible) {
    return reproducible.param ? "Reproducible" : "Fast";
});

TEST(FlareGradientRefusal, OfASecondBackwardPoisonsTheSums) {
    const Context self;
    const Model model(self, stored_case("flare/tiny"));
    FlareGradients own(self, model, all_rows(5), {});
    ASSERT_TRUE(own.run());
    EXPECT_FALSE(own.backward());
}

TEST(FlareGradientEdges, NoPointsAtAllHaveGradientsOfZero) {
    const Context context = mpi_context(world);
    const Model model(context, stored_case("flare/tiny_options"));
    for (const GradientWay& way : {exact_single, GradientWay{}}) {
        FlareGradients own(context, model, {}, way);
        ASSERT_TRUE(own.run());
        for (const double g : own.sums.total()) EXPECT_EQ(g, 0);
    }
}

TEST(FlareGradientEdges, TheMeanOfNoTokenHasNoGradient) {
    const Context context = mpi_context(world);
    for (const std::string name : {"lra_mean_sin", "sequence_max_rope"}) {
        const Model model(context, stored_case("flare/" + name));
        FlareGradients own(context, model, {}, exact_single);
        EXPECT_FALSE(own.run()) << name;
    }
    const Model model(context, stored_case("flare/sequence_cls_abs"));
    FlareGradients alone(context, model, {}, exact_single);  // the class token
    EXPECT_TRUE(alone.run());
}

/// A masked token gets gradients from its own prediction only.
TEST(FlareGradientEdges, HiddenTokensAlone) {
    const Context context = mpi_context(world);
    const Model model(context, stored_case("flare/lra_tokens_mask"));
    FlareGradients own(context, model, own_rows("contiguous", 12, world), exact_single);
    own.mask.assign(own.mask.size(), 0);
    ASSERT_TRUE(own.run());
    const auto* const latents = model.get()->model->weights()->find("blocks.0.att.latent_q");
    const auto* const words = model.get()->model->weights()->find("token_emb.token_embed.weight");
    double size = 0;
    for (int64_t i = 0; i < latents->size; ++i)
        EXPECT_EQ(own.total()[static_cast<size_t>(latents->first + i)], 0);
    for (int64_t i = 0; i < words->size; ++i)
        size += std::abs(own.total()[static_cast<size_t>(words->first + i)]);
    EXPECT_GT(size, 0);
}

}  // namespace
}  // namespace surrogate::test
