// SPDX-License-Identifier: Apache-2.0
// Cards of HEPT, names of its weights, and what is derived from them.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/layers.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/golden_weights.hpp"
#include "tests/support/hept_models.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using impl::hept::Config;
using impl::hept::Padding;
using kernels::Status;
using nlohmann::json;
namespace hept = impl::hept;

int64_t n_parameter(const Config& config) {
    int64_t n = 0;
    for (const impl::TensorSpec& spec : hept::layout(config)) {
        n += std::accumulate(spec.shape.begin(), spec.shape.end(), int64_t{1},
                             std::multiplies<int64_t>());
    }
    return n;
}

TEST(HeptConfig, HasTheDefaultsOfThePublishedModel) {
    const Config c = hept::parse_config({{"block_size", 100}, {"implementation", "X"}});
    EXPECT_EQ(n_parameter(c), 329364);
    EXPECT_EQ(c.n_out(), 12);
    EXPECT_EQ(c.padding, Padding::duplicate);
    const Config pileup = hept::parse_config({{"block_size", 100}, {"task", "pileup"}});
    EXPECT_EQ(pileup.in_dim, 8);
    EXPECT_EQ(pileup.n_feature(), 17);
    EXPECT_EQ(pileup.coords_dim, 4);
    EXPECT_EQ(pileup.n_out(), 1);
}

TEST(HeptConfig, ListsTensorsInTheOrderOfTheStateDict) {
    const json tiny = {{"block_size", 4}, {"n_hashes", 2},   {"num_heads", 2},
                       {"h_dim", 4},      {"n_layers", 2},   {"num_w_per_dist", 2},
                       {"in_dim", 3},     {"coords_dim", 3}, {"padding", "duplicate"}};
    const std::vector<impl::TensorSpec> list = hept::layout(hept::parse_config(tiny));
    EXPECT_EQ(list.size(), 56U);
    EXPECT_EQ(list[0].name, "regions");
    EXPECT_EQ(list[1].name, "feat_encoder.0.weight");
    EXPECT_EQ(list[10].name, "attns.0.attn.e2lsh.alpha");
    EXPECT_EQ(list.back().name, "mlp_out.norms.3.bias");
    for (const json& changes :
         {json{{"padding", "zero"}}, json{{"padding", nullptr}}, json{{"task", "pileup"}},
          json{{"num_classes", 3}}, json{{"n_layers", 5}}}) {
        const Config c = hept::parse_config(changed(tiny, changes));
        EXPECT_EQ(c.n_tensor(), std::ssize(hept::layout(c))) << changes;
    }
}

TEST(HeptConfig, TakesWhatOnlyTrainingNeeds) {
    EXPECT_NO_THROW(hept::parse_config(small_hept(
        {{"dropout", 0.2}, {"pe_type", "none"}, {"use_ckpt", true}, {"num_regions", 150}})));
}

struct Refused {
    const char* name;
    json changes;
    Status status;
    std::vector<std::string> says;
};

class HeptCards : public testing::TestWithParam<Refused> {};

TEST_P(HeptCards, AreRefusedWithValueAndRemedy) {
    const Refused& refused = GetParam();
    const Refusal found = refusal([&] { hept::parse_config(small_hept(refused.changes)); });
    EXPECT_EQ(found.status, refused.status) << found.text;
    for (const std::string& part : refused.says) EXPECT_TRUE(found.says(part)) << found.text;
}

INSTANTIATE_TEST_SUITE_P(
    All, HeptCards,
    testing::Values(
        Refused{"NoBlockSize", {{"block_size", nullptr}}, Status::bad_file, {"block_size is requ"}},
        Refused{"LargeBlock", {{"block_size", 1025}}, Status::bad_file, {"to 1024", "is 1025"}},
        Refused{"EmptyBlock", {{"block_size", 0}}, Status::bad_file, {"from 1", "is 0"}},
        Refused{"OneCoordinate", {{"coords_dim", 1}}, Status::bad_file, {"from 2 to 8", "is 1"}},
        Refused{"NineCoordinates", {{"coords_dim", 9}}, Status::bad_file, {"to 8", "is 9"}},
        Refused{"ThreeRegions", {{"num_regions", 3}}, Status::bad_file, {"from 4", "is 3"}},
        Refused{"WideHeads",
                {{"num_heads", 4000}, {"h_dim", 4000}, {"n_hashes", 1}},
                Status::bad_file,
                {"num_heads times h_dim is 16000000", "at most 1048576"}},
        Refused{"ManyRows",
                {{"num_heads", 4000}, {"n_hashes", 2}},
                Status::bad_file,
                {"n_hashes (2) times num_heads (4000)", "at most 4096"}},
        Refused{"UnknownPadding", {{"padding", "zeros"}}, Status::bad_file, {"masked", "zero"}},
        Refused{"PaddingOfTheOtherCode",
                {{"padding", "zero"}, {"implementation", "X"}},
                Status::bad_file,
                {"padding is 'zero'", "'X' pads with 'duplicate'"}},
        Refused{"ClassesOfPileup",
                {{"task", "pileup"}, {"num_classes", 3}},
                Status::bad_file,
                {"num_classes is 3", "one probability"}},
        Refused{"Dropout", {{"dropout", 1.5}}, Status::bad_file, {"dropout", "1.5"}},
        Refused{"PositionCode",
                {{"pe_type", "learned"}},
                Status::not_supported,
                {"pe_type 'learned'", "expected 'none'"}},
        Refused{"UnknownKey", {{"n_hash", 5}}, Status::bad_file, {"n_hashes"}}),
    [](const auto& refused) { return refused.param.name; });

// ---- files ----

/// Returns the error of a file of the network after `change`; status success if it is not.
Answer load(const json& network, const std::function<void(ModelWriter&)>& change) {
    ModelWriter writer = hept_network(network);
    change(writer);
    const ModelOnDisk disk(writer.bytes());
    try {
        const Context self;
        const Model model(self, disk.path());
    } catch (const Error& error) {
        return {error.status(), error.what()};
    }
    return {SURROGATE_SUCCESS, ""};
}

void set_region(ModelWriter& writer, float value) {
    for (auto& tensor : writer.tensors) {
        if (tensor.name != "regions") continue;
        std::vector<float> values(static_cast<size_t>(tensor.shape[0] * 2 * tensor.shape[2]), 3);
        values[3] = value;  // table 0, axis 1, head 1
        tensor = float_tensor("regions", tensor.shape, values);
    }
}

TEST(HeptFile, WithoutPositiveRegionsIsRefused) {
    for (const float value : {0.0F, -2.5F}) {
        const Answer found = load(small_hept(), [&](ModelWriter& w) { set_region(w, value); });
        EXPECT_EQ(found.status, SURROGATE_BAD_FILE);
        EXPECT_NE(found.text.find("table 0, axis 1, head 1"), std::string::npos) << found.text;
    }
    const Answer found = load(small_hept(), [](ModelWriter& w) { set_region(w, NAN); });
    EXPECT_EQ(found.status, SURROGATE_BAD_FILE);
    EXPECT_NE(found.text.find("not finite"), std::string::npos) << found.text;
    const Answer fine = load(small_hept(), [](ModelWriter& w) { set_region(w, 1e-30F); });
    EXPECT_EQ(fine.status, SURROGATE_SUCCESS) << fine.text;
}

void add_beta(ModelWriter& writer, int layer) {
    writer.tensors.push_back(float_tensor("attns." + std::to_string(layer) + ".attn.e2lsh.beta",
                                          {1, 3}, std::vector<float>(3, 0.5F)));
}

TEST(HeptFile, SaysByBetaHowItPads) {
    const json open = small_hept({{"padding", nullptr}});
    const auto none = [](ModelWriter&) {};
    EXPECT_EQ(load(open, none).status, SURROGATE_SUCCESS);
    const auto both = [](ModelWriter& w) {
        add_beta(w, 0);
        add_beta(w, 1);
    };
    EXPECT_EQ(load(open, both).status, SURROGATE_SUCCESS);
    const Answer half = load(open, [](ModelWriter& w) { add_beta(w, 1); });
    EXPECT_EQ(half.status, SURROGATE_BAD_FILE);
    EXPECT_NE(half.text.find("attns.0.attn.e2lsh.beta"), std::string::npos) << half.text;
    const Answer masked = load(small_hept(), both);  // contradicts its card
    EXPECT_EQ(masked.status, SURROGATE_BAD_FILE);
    EXPECT_NE(masked.text.find("does not belong to the network"), std::string::npos) << masked.text;
}

TEST(HeptFile, MustAgreeWithItsCard) {
    const Answer found = load(small_hept(), [](ModelWriter& w) { w.card["network"]["h_dim"] = 6; });
    EXPECT_EQ(found.status, SURROGATE_BAD_FILE);
    EXPECT_NE(found.text.find("by the card's network"), std::string::npos) << found.text;
}

// ---- derived weights ----

/// The numbers of section 12 of the specification.
TEST(HeptLayers, HaveTheScalesOfTheSpecification) {
    const GoldenFile file(SURROGATE_TEST_DATA "/hept/tiny.safetensors");
    const Config c = hept::parse_config(file.card().at("network"));
    const hept::Layers<double> layers(c, golden_weights(file, hept::layout(c)));
    const double* const s = layers.layers[0].heads[0].head.scale;
    EXPECT_NEAR(s[0], 1.624611301, 1e-9);
    EXPECT_EQ(s[1], s[0]);
    EXPECT_NEAR(s[2], 2.741496127, 1e-9);
}

TEST(HeptLayers, HaveTheirShareOfTheFilesMatrices) {
    const GoldenFile file(SURROGATE_TEST_DATA "/hept/tiny.safetensors");
    const Config c = hept::parse_config(file.card().at("network"));
    const hept::Layers<double> layers(c, golden_weights(file, hept::layout(c)));
    const int64_t d = c.h_dim, n_e = c.n_query();
    const auto at = [&](const std::string& name, int64_t i) {
        return file.tensor(file.has(name) ? name : "check/tables/alpha/1")
            .values[static_cast<size_t>(i)];
    };
    const std::string name = "attns.1.";
    const auto& head = layers.layers[1].heads[1];
    for (int64_t o = 0; o < d; ++o) {
        for (int64_t i = 0; i < d; ++i) {
            const int64_t row = d + o;  // of head 1
            EXPECT_EQ(head.head.qkv.weight[o * d + i], at(name + "w_q.weight", row * d + i));
            EXPECT_EQ(head.head.qkv.weight[(d + o) * d + i], at(name + "w_k.weight", row * d + i));
            EXPECT_EQ(head.head.qkv.weight[(2 * d + o) * d + i],
                      at(name + "w_v.weight", row * d + i));
            EXPECT_EQ(head.out.weight[o * d + i],
                      at(name + "attn.out_linear.weight", o * 2 * d + d + i));
        }
    }
    for (int64_t t = 0; t < c.n_hashes; ++t)
        for (int64_t e = 0; e < n_e; ++e)
            EXPECT_EQ(static_cast<double>(head.head.alpha[t * n_e + e]),
                      at(name + "attn.e2lsh.alpha", (n_e + e) * c.n_hashes + t));
    EXPECT_EQ(head.out.bias, nullptr);
    EXPECT_NE(layers.layers[1].heads[0].out.bias, nullptr);
    EXPECT_EQ(layers.layers[1].states.weight[1 * d + 2], at("W.weight", 1 * 3 * d + 2 * d + 2));
}

}  // namespace
}  // namespace surrogate::test
