// SPDX-License-Identifier: Apache-2.0
// Weights drawn from a seed, and the random numbers that they come from.
#include <gtest/gtest.h>

#include <cmath>
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

TEST_F(Initial, WeightsOfFlareAreThoseOfTheOfficialCode) {
    const Model model = made(flare_card, 1);
    expect_spread(model, "in_proj.fcs.0.weight", 0.02);
    expect_spread(model, "blocks.1.att.latent_q", 0.1);
    EXPECT_EQ(moments(model, "blocks.0.norm1.weight"), std::pair(1.0, 0.0));
    EXPECT_EQ(moments(model, "out_proj.0.bias"), std::pair(0.0, 0.0));
    EXPECT_EQ(moments(model, "blocks.0.att.k_proj.fc1.bias"), std::pair(0.0, 0.0));
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
        {sphere_card, "decoder.conv.weight", 0.05}, {flare_card, "out_proj.1.fc2.weight", 3}};
    for (const auto& [card, last, scale] : cases) {
        const Model plain = made(card, 1), scaled = made(card, 1, scale);
        const impl::MasterWeights& before = *plain.get()->model->weights();
        const impl::MasterWeights& after = *scaled.get()->model->weights();
        ASSERT_NE(before.find(last), nullptr);
        for (const auto& entry : before.entries()) {
            const double factor = entry.name == last ? scale : 1;
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
        {flare_card, 0, "must be a number above 0"},
        {flare_card, -1, "must be a number above 0"},
        {flare_card, NAN, "must be a number above 0"},
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
        {R"({"format": 1, "family": "sequoia", "network": {}})", "sequoia"},
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
