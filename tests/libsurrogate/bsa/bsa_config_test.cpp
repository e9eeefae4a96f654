// SPDX-License-Identifier: Apache-2.0
// Checks cards of Ball Sparse Attention: allowed values, and errors of others.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/erwin_config.hpp"
#include "tests/support/bsa_models.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using impl::bsa::Config;
using impl::bsa::parse_config;
using kernels::Status;
using nlohmann::json;

int64_t n_parameter(const json& network) {
    int64_t n = 0;
    for (const impl::TensorSpec& spec : impl::bsa::layout(parse_config(network)))
        n += std::accumulate(spec.shape.begin(), spec.shape.end(), int64_t{1},
                             std::multiplies<int64_t>());
    return n;
}

json with_attention(const json& kwargs) {
    return {{"attention_kwargs", kwargs}};
}

TEST(BsaConfig, OfThePaperHasItsParameters) {
    EXPECT_EQ(n_parameter(json::object()), 1574913);
    EXPECT_EQ(n_parameter(with_attention({{"use_coarse_q_attn", true}})), 1743249);
    EXPECT_EQ(n_parameter(with_attention({{"use_compress_mlp", false}})), 1238241);
    EXPECT_EQ(n_parameter(with_attention({{"use_token_gated_attention", false}})), 1547121);
    EXPECT_EQ(n_parameter({{"attention_type", "ball"}}), 1210161);
    EXPECT_EQ(n_parameter({{"attention_type", "global"}}), 1210017);
}

TEST(BsaConfig, CountsTheTensorsOfItsLayout) {
    for (const int depth : {0, 1, 2, 5}) {
        const Config config = parse_config({{"depth", depth}});
        EXPECT_EQ(config.n_tensor(), std::ssize(impl::bsa::layout(config))) << depth;
    }
}

TEST(BsaConfig, TakesTheRotationOfTheCardOrComputesIt) {
    for (const char* name : {"bsa_small_grad", "bsa_paper_width_2d"}) {
        const GoldenFile file(SURROGATE_TEST_DATA "/bsa/" + std::string(name) + ".safetensors");
        json network = file.card()["network"];
        const Config given = parse_config(network);
        network.erase("rotation");
        EXPECT_EQ(parse_config(network).rotation, given.rotation) << name;
    }
    const Config given =
        parse_config({{"dimensionality", 2}, {"rotation", {"0x1p-1", "-0x1.8p-1", "0x0p+0", 1.0}}});
    EXPECT_EQ(given.rotation[0], 0.5);
    EXPECT_EQ(given.rotation[1], -0.75);
    EXPECT_EQ(given.rotation[3], 1.0);
    const Config other = parse_config({{"rotation_angle", 30}});
    EXPECT_NEAR(other.rotation[6], -0.5, 1e-15);
}

TEST(BsaConfig, IsNotRotatedOnALineOrByNoAngleOrWithFullAttention) {
    EXPECT_TRUE(parse_config(json::object()).is_layer_rotated(1));
    EXPECT_FALSE(parse_config(json::object()).is_layer_rotated(2));
    for (const json& network :
         {json{{"dimensionality", 1}}, json{{"rotation_angle", 0}}, json{{"should_rotate", false}},
          json{{"attention_type", "global"}}}) {
        EXPECT_FALSE(parse_config(network).is_layer_rotated(1)) << network;
    }
}

TEST(BsaConfig, AddsBlockResidualsOnceAtTheEnd) {
    const auto adding = [](const json& network) {
        const Config config = parse_config(network);
        std::vector<int64_t> layers;
        for (int64_t i = 0; i < config.depth; ++i)
            if (config.adds_residual(i)) layers.push_back(i);
        return layers;
    };
    EXPECT_EQ(adding(json::object()), (std::vector<int64_t>{5, 11, 17}));
    EXPECT_EQ(adding({{"depth", 4}, {"block_size", 3}}), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(adding({{"block_size", 0}}), std::vector<int64_t>{});
}

struct Refused {
    std::string name;
    json network;
    std::string says;
    Status status = Status::bad_file;
};

class BsaCard : public testing::TestWithParam<Refused> {};

TEST_P(BsaCard, IsRefusedWithTheValueAndTheRemedy) {
    const Refusal found = refusal([] { parse_config(GetParam().network); });
    EXPECT_EQ(found.status, GetParam().status) << found.text;
    EXPECT_TRUE(found.says(GetParam().says)) << found.text;
}

const Refused refused[] = {
    {"BallOf48",
     {{"ball_size", 48}},
     "is 48, expected a power of two; the nearest valid values are 32 and 64"},
    {"BallOfOne", {{"ball_size", 1}}, "from 2"},
    {"BlockOf6", with_attention({{"compress_block_size", 6}}), "is 6, expected a power of two"},
    {"GroupOf12", with_attention({{"group_selection_size", 12}}), "is 12, expected a power of two"},
    {"BlockBeyondTheBall",
     {{"ball_size", 4}, {"attention_kwargs", {{"group_selection_size", 4}}}},
     "compress_block_size is 8, expected at most ball_size = 4"},
    {"GroupBeyondTheBall",
     {{"ball_size", 8}, {"attention_kwargs", {{"group_selection_size", 16}}}},
     "group_selection_size is 16, expected at most ball_size = 8"},
    {"ThreeHeads", {{"num_heads", 3}}, "num_heads is 3, expected a divisor of the 64 channels"},
    {"FourAxes",
     {{"dimensionality", 4}},
     "dimensionality is 4, expected a whole number from 1 to 3"},
    {"OddFeatures", {{"c_in", 5}}, "c_in is 5, expected an even number"},
    {"CoarseQueriesOfOtherGroups",
     with_attention({{"use_coarse_q_attn", true}, {"group_selection_size", 16}}),
     "group_selection_size is 16, expected compress_block_size = 8"},
    {"CoarseQueriesWithoutGroups",
     with_attention({{"use_coarse_q_importance", true}, {"use_group_selection", false}}),
     "without use_group_selection"},
    {"RotationOfFour", {{"rotation", {1, 0, 0, 1}}}, "a list of 9 numbers"},
    {"RotationInWords", {{"dimensionality", 2}, {"rotation", {"1", 0, 0, 1}}}, "\"1\""},
    {"RotationThatStretches",
     {{"dimensionality", 2}, {"rotation", {3, 0, 0, 1}}},
     "expected -1 to 1"},
    {"UnknownKey", {{"ballsize", 4}}, "did you mean 'ball_size'"},
    {"UnknownKeyOfAttention", with_attention({{"selected_block_number", 4}}),
     "did you mean 'selected_blocks_number'"},
    {"AttentionInWords", {{"attention_kwargs", "sparse"}}, "expected an object"},
    {"UnknownAttention", {{"attention_type", "spares"}}, "did you mean 'sparse'"},
    {"UnknownModel", {{"model", "erwin"}}, "erwin_ball_attention", Status::not_supported},
    {"OtherRowsOfASingleLayer",
     {{"model", "erwin_ball_attention"}, {"qkv_layout", "q, k, v"}},
     "expected 'interleaved'"},
    {"HeadsOfASingleLayer",
     {{"model", "erwin_ball_attention"}, {"dim", 32}, {"heads", 5}},
     "heads is 5, expected a divisor of the 32 channels"},
};

INSTANTIATE_TEST_SUITE_P(Of, BsaCard, testing::ValuesIn(refused),
                         [](const auto& card) { return card.param.name; });

/// A card of Erwin with one level.
impl::bsa::erwin::Config erwin_config(const json& changes) {
    return impl::bsa::erwin::parse_config(changed(
        {{"c_hidden", {8}}, {"ball_sizes", {16}}, {"enc_num_heads", {2}}, {"enc_depths", {1}}},
        changes));
}

TEST(ErwinCard, WithAnOutputHasHeadAndFeatures) {
    const auto config = erwin_config({{"c_out", 3}, {"pos_enc", "fourier"}, {"neighbors", 4}});
    EXPECT_EQ(config.n_out(), 3);
    EXPECT_EQ(config.n_given(), 0);
    EXPECT_EQ(config.n_neighbor, 4);
    EXPECT_EQ(config.encoders.front().stage, "main_model.bottleneck.");
    EXPECT_EQ(erwin_config(json::object()).n_out(), 8);
}

TEST(ErwinCard, IsRefusedWithTheValueAndTheRemedy) {
    const auto expect_refused = [](const json& changes, const std::string& text) {
        const Refusal found = refusal([&] { erwin_config(changes); });
        EXPECT_EQ(found.status, Status::bad_file) << found.text;
        EXPECT_TRUE(found.says(text)) << found.text;
    };
    expect_refused({{"pos_enc", "linear"}}, "pos_enc is 'linear' without c_out, expected 'none'");
    expect_refused({{"c_out", 1}, {"c_in", 5}, {"pos_enc", "fourier"}},
                   "c_in is 5, expected an even number");
    expect_refused({{"neighbors", 257}}, "neighbors is 257, expected a whole number from 0 to 256");
}

}  // namespace
}  // namespace surrogate::test
