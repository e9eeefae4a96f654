// SPDX-License-Identifier: Apache-2.0
// Weights drawn from a seed, and the random numbers that they come from.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <surrogate/surrogate_train.hpp>
#include <tuple>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/core/random.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

const char* const flare_card =
    R"({"format": 1, "family": "flare", "network": {"model": "FLAREModel", "in_dim": 3,
        "out_dim": 1, "channel_dim": 64, "num_blocks": 2, "num_heads": 8, "num_latents": 64}})";
const char* const sphere_card =
    R"({"format": 1, "family": "sphere", "conventions": "torch-harmonics 0.9.3",
        "basis_norm_mode": "nodal", "network": {"model": "SphericalTransformer",
        "img_size": [64, 128], "grid": "legendre-gauss", "grid_internal": "legendre-gauss",
        "in_chans": 3, "out_chans": 3, "scale_factor": 2, "embed_dim": 64, "num_layers": 1,
        "encoder_kernel_shape": [5, 4], "filter_basis_type": "piecewise linear", "num_heads": 1,
        "mlp_ratio": 2.0, "normalization_layer": "instance_norm", "residual_prediction": true,
        "pos_embed": "spectral", "attention_mode": "neighborhood", "bias": false}})";

class Initial : public testing::Test {
protected:
    Model made(const char* card, int64_t seed) {
        return Model(detail::made<surrogate_model>([&](surrogate_model** model) {
            return surrogate_model_initialize(context_.get(), context_.rank() == 0 ? card : nullptr,
                                              seed, model);
        }));
    }
    Model made(const char* card, int64_t seed, double output_scale) {
        return initialized_model(context_, context_.rank() == 0 ? card : "", seed, output_scale);
    }
    /// Mean and deviation of a tensor.
    std::pair<double, double> moments(const Model& model, const std::string& name) {
        const impl::MasterWeights& master = *model.get()->model->weights();
        const impl::MasterWeights::Entry* entry = master.find(name);
        EXPECT_NE(entry, nullptr) << name;
        if (!entry) return {};
        double sum = 0, square = 0;
        for (int64_t i = 0; i < entry->size; ++i) {
            const double value = master.values()[static_cast<size_t>(entry->first + i)];
            sum += value;
            square += value * value;
        }
        const auto n = static_cast<double>(entry->size);
        return {sum / n, std::sqrt(square / n - sum * sum / (n * n))};
    }
    /// Within five standard errors of a normal or uniform sample.
    void expect_spread(const Model& model, const std::string& name, double deviation) {
        const auto [mean, found] = moments(model, name);
        const auto n = static_cast<double>(model.get()->model->weights()->find(name)->size);
        EXPECT_NEAR(mean, 0, 5 * deviation / std::sqrt(n)) << name;
        EXPECT_NEAR(found, deviation, 5 * deviation / std::sqrt(2 * n)) << name;
    }

    const Context context_ = mpi_context(world);
};

/// Distribution of the official initializer for tensors whose name matches.
struct Rule {
    std::string name;  ///< regular expression
    enum Kind { constant, normal, uniform, linear, ignored } kind;
    double mean, width;  ///< constant: the value; normal: deviation; uniform: half of the interval
};

struct Family {
    std::string label, card;
    std::vector<Rule> rules;  ///< the first that matches applies; every tensor matches one
};

/// torch.nn.Linear: uniform between -1 / sqrt(n_in) and 1 / sqrt(n_in), weight and bias.
Rule linear(const std::string& name) {
    return {name, Rule::linear, 0, 0};
}
Rule norms(const std::string& name) {
    return {name, Rule::constant, 1, 0};
}
Rule zeros(const std::string& name) {
    return {name, Rule::constant, 0, 0};
}
Rule normal(const std::string& name, double deviation, double mean = 0) {
    return {name, Rule::normal, mean, deviation};
}

std::string card(const std::string& family, const std::string& network) {
    return R"({"format": 1, "family": ")" + family + R"(", "network": )" + network + "}";
}

/// The official initializers: sections "Initialization" of the specifications, and the authors'
/// constructors.
std::vector<Family> families() {
    const std::vector<Rule> flare = {normal(".*latent_q", 0.1), zeros(".*bias"),
                                     norms("(.*(norm|ln)[12]?|out_proj\\.(0|ln))\\.weight"),
                                     normal(".*", 0.02)};
    const std::vector<Rule> bsa = {normal(".*sigma_att", 0.01, -1),
                                   zeros(".*gates"),
                                   normal("pos_enc.linear.weight", 1),
                                   linear("(pred_head|pos_enc)\\..*"),
                                   zeros(".*bias"),
                                   norms(".*norm[12].weight"),
                                   normal(".*", 0.02)};
    const std::vector<Rule> sequoia = {
        normal("pos_enc.linear.weight", 1), normal(".*(word|position)_embeddings.weight", 0.02),
        zeros(".*norm[12]?.bias"), norms(".*norm[12]?.weight"), linear(".*")};
    const std::vector<Rule> hept = {
        {"regions", Rule::ignored, 0, 0},    normal("(pids_enc.weight|.*alpha)", 1),
        {".*beta", Rule::uniform, 0.5, 0.5}, zeros(".*norm(s\\.)?[0-9].bias"),
        norms(".*norm(s\\.)?[0-9].weight"),  linear(".*")};
    const std::vector<Rule> sequence = {
        {"pos_emb.pos_scale", Rule::constant, 1 / std::sqrt(64.0), 0},
        normal(".*latent_q", 0.1),
        normal("(cls_token|token_emb.*|pos_emb.pe.weight)", 0.02),
        zeros(".*bias"),
        norms("(.*norm[12]?|cls_proj.1).weight"),
        normal(".*", 0.02)};
    return {
        {"flare", flare_card, flare},
        {"flare_ablation",
         card("flare", R"({"model": "BigFLAREModel", "in_dim": 3, "out_dim": 1, "channel_dim": 64,
              "num_blocks": 2, "num_latents": 64, "num_latent_blocks": 1})"),
         flare},
        {"flare_sequence",
         card("flare", R"({"model": "ModelWrapper", "task": "text", "vocab_size": 50,
              "num_labels": 2, "max_length": 128, "pool": "mean", "num_blocks": 1,
              "channel_dim": 64, "num_heads": 4, "num_latents": 16, "pos_embed": "sin"})"),
         sequence},
        {"flare_sequence_cls",
         card("flare", R"({"model": "ModelWrapper", "task": "listops", "vocab_size": 50,
              "num_labels": 10, "max_length": 128, "pool": "cls", "num_blocks": 1,
              "channel_dim": 64, "num_heads": 4, "num_latents": 16, "pos_embed": "abs"})"),
         sequence},
        {"flare_physicsnemo",
         card("flare", R"({"model": "FLARE", "functional_dim": 1, "out_dim": 2, "embedding_dim": 2,
              "n_layers": 2, "n_hidden": 64, "n_head": 4, "time_input": true})"),
         {{"time_embed.freqs", Rule::ignored, 0, 0},
          normal(".*q_global", 1),
          zeros(".*bias"),
          norms(".*(ln_1|ln_mlp[12].0)\\.weight"),
          normal(".*", 0.02)}},
        {"bsa", card("bsa", R"({"depth": 2})"), bsa},
        {"bsa_full", card("bsa", R"({"depth": 2, "attention_type": "global"})"), bsa},
        {"bsa_ball", card("bsa", R"({"depth": 2, "attention_type": "ball"})"), bsa},
        {"erwin",
         card("erwin", R"({"c_in": 6, "c_hidden": [16, 24], "ball_sizes": [32, 16],
              "enc_num_heads": [2, 3], "enc_depths": [2, 2], "dec_num_heads": [2],
              "dec_depths": [2], "strides": [2], "mlp_ratio": 2, "dimensionality": 3,
              "mp_steps": 2})"),
         {normal(".*sigma_att", 0.01, -1), norms(".*running_var"), zeros(".*running_mean"),
          zeros(".*bias"), norms(".*(norm[12]?|message_fns.[0-9].2|update_fns.[0-9].1).weight"),
          normal(".*", 0.02)}},
        {"erwin_head",
         card("erwin", R"({"c_in": 24, "c_hidden": [16], "ball_sizes": [32], "enc_num_heads": [2],
              "enc_depths": [1], "mp_steps": 1, "c_out": 20, "pos_enc": "linear"})"),
         {linear("(pos_enc|pred_head.[02]).(weight|bias)"), normal(".*sigma_att", 0.01, -1),
          zeros(".*bias"), norms(".*(norm[12]|message_fns.0.2|update_fns.0.1).weight"),
          normal(".*", 0.02)}},
        {"hept", card("hept", R"({"block_size": 100})"), hept},
        {"hept_pileup", card("hept", R"({"task": "pileup", "block_size": 100, "padding": "zero"})"),
         hept},
        {"sequoia", card("sequoia", "{}"), sequoia},
        {"sequoia_sequence",
         card("sequoia", R"({"pos_enc": "tokens", "vocab_size": 100, "max_seq_len": 512,
              "num_classes": 100})"),
         sequoia},
    };
}

class InitialFamily : public Initial, public testing::WithParamInterface<Family> {};
INSTANTIATE_TEST_SUITE_P(All, InitialFamily, testing::ValuesIn(families()),
                         [](const auto& family) { return family.param.label; });

/// Compares mean, deviation and bounds of every tensor with the rule for its name.
TEST_P(InitialFamily, WeightsAreThoseOfTheOfficialCode) {
    const Model model = made(GetParam().card.c_str(), 1);
    const impl::MasterWeights& master = *model.get()->model->weights();
    int64_t n_in = 0;
    for (const auto& entry : master.entries()) {
        const auto rule = std::ranges::find_if(GetParam().rules, [&](const Rule& candidate) {
            return std::regex_match(entry.name, std::regex(candidate.name));
        });
        ASSERT_NE(rule, GetParam().rules.end()) << entry.name;
        if (entry.shape.size() == 2) n_in = entry.shape[1];  // of the bias that follows, too
        const auto [mean, deviation] = moments(model, entry.name);
        const auto n = static_cast<double>(entry.size);
        const auto values =
            std::span(master.values())
                .subspan(static_cast<size_t>(entry.first), static_cast<size_t>(entry.size));
        const auto [least, most] = std::ranges::minmax(values);
        if (rule->kind == Rule::ignored) continue;
        if (rule->kind == Rule::constant) {
            EXPECT_EQ(least, static_cast<float>(rule->mean)) << entry.name;
            EXPECT_EQ(most, static_cast<float>(rule->mean)) << entry.name;
            continue;
        }
        if (rule->kind == Rule::normal) {
            EXPECT_NEAR(mean, rule->mean, 5 * rule->width / std::sqrt(n)) << entry.name;
            if (n < 64) continue;  // too few for a deviation
            EXPECT_NEAR(deviation, rule->width, 5 * rule->width / std::sqrt(2 * n)) << entry.name;
            continue;
        }
        const double half =
            rule->kind == Rule::linear ? 1 / std::sqrt(static_cast<double>(n_in)) : rule->width;
        EXPECT_NEAR(mean, rule->mean, 5 * half / std::sqrt(3 * n)) << entry.name;
        EXPECT_GE(least, rule->mean - half * (1 + 1e-6)) << entry.name;
        EXPECT_LE(most, rule->mean + half * (1 + 1e-6)) << entry.name;
        // The largest of n uniform numbers is below 1 - 12 / n with probability exp(-12).
        EXPECT_GT(most, rule->mean + half * (1 - 24 / n)) << entry.name;
        EXPECT_LT(least, rule->mean - half * (1 - 24 / n)) << entry.name;
    }
}

/// Products of the two numbers of regions are near num_regions, and each is a multiple of 1/3.
TEST_F(Initial, RegionsOfHeptHaveTheNumberOfTheCard) {
    const Model model = made(card("hept", R"({"block_size": 100, "num_regions": 60})").c_str(), 1);
    const impl::MasterWeights& master = *model.get()->model->weights();
    const auto& regions = *master.find("regions");
    const int64_t n_hash = regions.shape[0], n_head = regions.shape[2];
    std::set<float> distinct;
    for (int64_t c = 0; c < n_hash; ++c) {
        for (int64_t h = 0; h < n_head; ++h) {
            const auto value = [&](int64_t axis) {
                return master
                    .values()[static_cast<size_t>(regions.first + (c * 2 + axis) * n_head + h)];
            };
            for (int64_t axis = 0; axis < 2; ++axis) {
                EXPECT_EQ(std::round(3 * value(axis)) / 3, value(axis));
                EXPECT_GE(value(axis), 1);
            }
            // Rounding to thirds changes each number by at most 1/6.
            EXPECT_NEAR(value(0) * value(1), 60, (value(0) + value(1)) / 6 + 1.0 / 36);
            distinct.insert(value(0));
        }
    }
    EXPECT_GT(distinct.size(), 5u);
}

TEST_F(Initial, WeightsOfTheSphereAreThoseOfTheOfficialCode) {
    const Model model = made(sphere_card, 1);
    // A uniform number between -a and a has the deviation a / sqrt(3).
    expect_spread(model, "blocks.0.self_attn.q_weights", std::sqrt(2.0 / 128));
    expect_spread(model, "blocks.0.self_attn.proj_weights", std::sqrt(1.0 / 64));
    expect_spread(model, "blocks.0.mlp.fwd.0.weight", std::sqrt(2.0 / 64));
    expect_spread(model, "blocks.0.mlp.fwd.2.weight", std::sqrt(0.5 / 128));
    const auto& shape =
        model.get()->model->weights()->find("decoder.conv.weight")->shape;  // (out, in, basis)
    expect_spread(model, "decoder.conv.weight",
                  1 / std::sqrt(static_cast<double>(shape[1] * shape[2])));
    EXPECT_EQ(moments(model, "blocks.0.norm0.weight"), std::pair(1.0, 0.0));
}

/// Every tensor is equal to the tensor without a scale, except in the layer that gives the outputs.
TEST_F(Initial, OutputScaleIsForTheLastLayerAlone) {
    const std::tuple<const char*, const char*, double> cases[] = {
        {sphere_card, "decoder.conv.weight", 0.05},
        {flare_card, "out_proj.1.fc2.weight", 3},
        {R"({"format": 1, "family": "hept", "network": {"block_size": 100, "num_classes": 3}})",
         "out_proj.*", 0.1},
        {R"({"format": 1, "family": "hept", "network": {"block_size": 100}})", "mlp_out.lins.4.*",
         0.1},
        {R"({"format": 1, "family": "bsa", "network": {"depth": 1}})", "pred_head.2.*", 0.1},
        {R"({"format": 1, "family": "sequoia", "network": {"num_layers": 1}})",
         "seq_classifer.mlpblock.2.*", 0.1}};
    for (const auto& [card, last, scale] : cases) {
        const Model plain = made(card, 1), scaled = made(card, 1, scale);
        const impl::MasterWeights& before = *plain.get()->model->weights();
        const impl::MasterWeights& after = *scaled.get()->model->weights();
        const std::regex is_last(last);
        EXPECT_TRUE(std::ranges::any_of(before.entries(), [&](const auto& entry) {
            return std::regex_match(entry.name, is_last);
        })) << last;
        for (const auto& entry : before.entries()) {
            const double factor = std::regex_match(entry.name, is_last) ? scale : 1;
            for (int64_t i = entry.first; i < entry.first + entry.size; ++i) {
                const auto at = static_cast<size_t>(i);
                ASSERT_NEAR(after.values()[at], factor * before.values()[at],
                            1e-6 * std::abs(factor * before.values()[at]))
                    << entry.name;
            }
        }
    }
}

TEST_F(Initial, OutputScalesThatCannotBeAreRefusedOnAllRanks) {
    const char* const layer =
        R"({"format": 1, "family": "sphere", "network": {"layer": "AttentionS2", "in_channels": 8,
            "num_heads": 1, "in_shape": [8, 16], "out_shape": [8, 16]}})";
    const std::tuple<const char*, double, const char*> cases[] = {
        {flare_card, 0, "expected a number above 0"},
        {flare_card, -1, "expected a number above 0"},
        {flare_card, NAN, "expected a number above 0"},
        {layer, 0.5, "has none"}};
    for (const auto& [card, scale, part] : cases) {
        surrogate_model* model = nullptr;
        const Answer found =
            answer(surrogate_model_initialize_scaled(context_.get(), card, 0, scale, &model));
        EXPECT_NE(found.status, SURROGATE_SUCCESS);
        EXPECT_TRUE(found.says(part)) << found;
        EXPECT_TRUE(ranks_still_talk(world));
    }
}

TEST_F(Initial, SeedsDecide) {
    const uint64_t first = made(flare_card, 1).get()->model->hash();
    EXPECT_EQ(made(flare_card, 1).get()->model->hash(), first);
    EXPECT_NE(made(flare_card, 2).get()->model->hash(), first);
}

TEST_F(Initial, RanksHaveTheSameWeights) {
    const auto hash = static_cast<int64_t>(made(flare_card, 3).get()->model->hash());
    int64_t of_rank_0 = hash;
    MPI_Bcast(&of_rank_0, 1, MPI_INT64_T, 0, world);
    EXPECT_EQ(hash, of_rank_0);
}

TEST_F(Initial, CardsThatCannotBeDrawnAreRefusedOnAllRanks) {
    const std::pair<const char*, const char*> cases[] = {
        {nullptr, "'card' is NULL"},
        {R"({"format": 1, "family": "flare", "network": {}})", "in_dim"},
        {R"({"format": 1, "family": "sequoya", "network": {}})", "sequoya"},
    };
    for (const auto& [card, part] : cases) {
        surrogate_model* model = nullptr;
        const Answer found = answer(surrogate_model_initialize(context_.get(), card, 0, &model));
        EXPECT_NE(found.status, SURROGATE_SUCCESS);
        EXPECT_TRUE(found.says(part)) << found;
        EXPECT_TRUE(ranks_still_talk(world));
    }
}

/// Known answers of the authors' code (Random123, kat_vectors).
TEST(Philox, GivesItsKnownAnswers) {
    using Words = std::array<uint32_t, 4>;
    EXPECT_EQ(impl::philox({0, 0, 0, 0}, {0, 0}),
              (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(
        impl::philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
        (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Random, NumbersAreInTheirRangeAndFillIt) {
    const impl::Random random(7, 1);
    std::vector<int> count(10);
    double sum = 0, square = 0;
    for (int64_t i = 0; i < 100'000; ++i) {
        const double u = random.uniform(i);
        ASSERT_TRUE(u > 0 && u < 1);
        ++count[static_cast<size_t>(random.below(10, i))];
        sum += random.normal(i);
        square += random.normal(i) * random.normal(i);
    }
    for (const int n : count) EXPECT_NEAR(n, 10'000, 5 * 95);
    EXPECT_NEAR(sum / 1e5, 0, 5 / std::sqrt(1e5));
    EXPECT_NEAR(square / 1e5, 1, 5 * std::sqrt(2 / 1e5));
    EXPECT_NE(impl::Random(7, 2).bits(0), random.bits(0));
}

}  // namespace
}  // namespace surrogate::test
