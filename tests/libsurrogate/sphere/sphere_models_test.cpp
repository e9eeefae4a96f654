// SPDX-License-Identifier: Apache-2.0
// Options of the models that no published file uses, against an evaluation of the spec in double
// precision that shares no code with the library.
#include "tests/support/sphere_models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/sphere_case.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

/// Values of y at (channel 0, row 0, column 0), (channel 1, row 3, column 7), the last point of the
/// last channel, and the sum of y^2.
///
/// Made by dense loops over all pairs of points in numpy (double precision, position embeddings
/// rounded to float), with weights filled by the rule of the spec of the sphere's models, section
/// 11, and the input F((1, n, nlat, nlon), 0.6).
struct Variant {
    std::string name;
    json network;
    double expected[4];
    std::string conventions = {};
};

std::ostream& operator<<(std::ostream& stream, const Variant& v) {
    return stream << v.name;
}

Variant transformer(const char* name, const json& changes, const double (&y)[4],
                    const char* conventions = "") {
    return {name, changed(small_transformer(), changes), {y[0], y[1], y[2], y[3]}, conventions};
}
Variant segformer(const char* name, const json& changes, const double (&y)[4],
                  const char* conventions = "") {
    return {name, changed(small_segformer(), changes), {y[0], y[1], y[2], y[3]}, conventions};
}

const char* const paper_release = "torch-harmonics 0.8.0";
const json on_gauss = {{"grid_in", "legendre-gauss"}, {"grid_out", "legendre-gauss"}};
const json on_trapezoids = {{"grid_in", "equiangular-trapezoidal"},
                            {"grid_out", "equiangular-trapezoidal"}};

std::vector<Variant> variants() {
    return {
        transformer("SpectralEmbeddingComputed", json::object(),
                    {0.574772096, 0.190449091, -0.900676372, 478.737012}),
        transformer("NoNormReluNoEmbeddingNoResidual",
                    {{"normalization_layer", "none"},
                     {"activation_function", "relu"},
                     {"pos_embed", "none"},
                     {"residual_prediction", false}},
                    {-0.00293711793, -0.00685608907, -0.00719775391, 0.0401880079}),
        transformer(
            "LayerNormSequenceEmbeddingBias",
            {{"normalization_layer", "layer_norm"}, {"pos_embed", "sequence"}, {"bias", true}},
            {0.34215329, 0.246490935, -0.943684712, 449.800161}),
        transformer("LearnableLatlonDropout",
                    {{"pos_embed", "learnable latlon"}, {"drop_rate", 0.1}},
                    {0.56530786, 0.179078614, -0.805285234, 431.820332}),
        transformer("WithoutMlpLearnableLat", {{"pos_embed", "learnable lat"}, {"use_mlp", false}},
                    {0.199797351, 0.114370226, -1.08611301, 534.201928}),
        transformer("HarmonicUpsamplingGlobalLobatto",
                    {{"upsample_sht", true}, {"attention_mode", "global"}, {"grid", "lobatto"}},
                    {0.563907052, 0.188520547, -0.912165093, 486.513166}),
        transformer("TrapezoidsIdentityNarrowMlp",
                    {{"grid_internal", "equiangular-trapezoidal"},
                     {"pos_embed", "none"},
                     {"activation_function", "identity"},
                     {"mlp_ratio", 1.3}},
                    {0.512471123, 0.115539727, -0.867684051, 438.070802}),
        transformer("OddRowsScaleFactorThree",
                    {{"img_size", {13, 27}},
                     {"scale_factor", 3},
                     {"grid_internal", "equiangular"},
                     {"pos_embed", "learnable lat"}},
                    {0.570574394, -0.433312306, -1.03620787, 527.184258}),
        transformer("PaperRelease", {{"bias", true}},
                    {0.601668675, 0.69304729, -0.656507575, 490.524398}, paper_release),
        segformer("Segformer", json::object(),
                  {0.414044455, -0.0377347469, 0.218182347, 298.702325}),
        segformer("SegformerTransposedUpsampling", {{"upsampling_method", "conv"}},
                  {0.0615137464, 0.257683875, -0.357135177, 107.522814}),
        segformer("SegformerReluBias", {{"activation_function", "relu"}, {"bias", true}},
                  {-0.318546648, -0.573707913, -0.35865797, 282.824492}),
        segformer("SegformerGlobalLobatto",
                  {{"attention_mode", "global"}, {"grid_internal", "lobatto"}},
                  {0.779842347, 0.191264856, 0.264647875, 443.243418}),
        segformer("SegformerPaperRelease", {{"upsampling_method", "conv"}, {"bias", true}},
                  {-0.266215102, -0.16992555, -0.018505343, 45.6612644}, paper_release),
        segformer("SegformerOddRows", {{"img_size", {27, 36}}},
                  {0.0522893269, 0.199043011, 0.049525748, 226.997477}),
        // Mean normalization with its epsilon, cutoff pi / (nlat - 1).
        {"ConvolutionPaperRelease",
         changed(changed(small_convolution(), on_gauss), {{"theta_cutoff", nullptr}}),
         {0.356028346, -0.139127803, 0.013374338, 104.425614},
         paper_release},
        {"TransposedConvolutionPaperRelease",
         changed(small_convolution(), {{"layer", "DiscreteContinuousConvTransposeS2"},
                                       {"in_channels", 4},
                                       {"out_channels", 3},
                                       {"in_shape", {6, 12}},
                                       {"theta_cutoff", nullptr}}),
         {0.0478475367, -0.382547779, 0.00162981943, 557.440089},
         paper_release},
        // Scale 1 / sqrt(Ck) on the input of the projection of q, whose bias stays.
        {"AttentionPaperRelease",
         changed(small_attention(), on_gauss),
         {-0.0256748586, 0.347840552, -0.0595159313, 19.194904},
         paper_release},
        // The largest gap between nodes as cutoff.
        {"AttentionDefaultCutoffGauss",
         changed(small_attention(), on_gauss),
         {-0.029837751, 0.348616182, -0.0699005144, 25.0262432}},
        {"AttentionDefaultCutoffTrapezoids",
         changed(small_attention(), on_trapezoids),
         {-0.00949892228, 0.129072302, -0.0300792885, 2.14565365}},
    };
}

std::string file_of(const Variant& v) {
    json card = sphere_card(v.network);
    if (!v.conventions.empty()) card["conventions"] = v.conventions;
    return sphere_model(card).bytes();
}

class SphereModel : public testing::TestWithParam<Variant> {
protected:
    void expect_values(const Options& options, double tolerance) {
        const Context self;
        const Model model(self, file_.path());
        const surrogate_domain_info grid = model.output_domain();
        const std::vector<double> y = evaluate(file_.path(), wave_inputs(model), options);
        double sum = 0;
        for (const double value : y) sum += value * value;
        const size_t inner =
            static_cast<size_t>((grid.n_lat + 3) * grid.n_lon + 7);  // channel 1, row 3, column 7
        const double scale = largest(y);
        EXPECT_NEAR(y.front(), GetParam().expected[0], tolerance * scale);
        EXPECT_NEAR(y.at(inner), GetParam().expected[1], tolerance * scale);
        EXPECT_NEAR(y.back(), GetParam().expected[2], tolerance * scale);
        EXPECT_NEAR(sum / GetParam().expected[3], 1, 2 * tolerance);
    }

    const ModelOnDisk file_{file_of(GetParam())};
};

// Interpolation weights and quadrature weights of attention are rounded to float in every
// precision.
TEST_P(SphereModel, InDoubleIsAsTheSpecSays) {
    expect_values({{"backend", "ref"}, {"precision", "fp64"}}, 3e-8);
}

TEST_P(SphereModel, InSingleIsAsTheSpecSays) {
    expect_values({{"backend", "simd"}}, 2e-6);
    expect_values({{"backend", "ref"}}, 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Variants, SphereModel, testing::ValuesIn(variants()),
                         [](const auto& variant) { return variant.param.name; });

// ---- self-checks of the spec of the sphere's models, section 11 ----

void expect_self_check(const std::string& mode, const double (&expected)[4]) {
    const ModelOnDisk file(changed(small_transformer(), {{"img_size", {24, 48}},
                                                         {"grid", "legendre-gauss"},
                                                         {"embed_dim", 128},
                                                         {"num_layers", 4},
                                                         {"num_heads", 1},
                                                         {"attention_mode", mode}}));
    const std::vector<double> y = evaluate(file.path(), {wave(3 * 24 * 48, 0.6)});
    double sum = 0;
    for (const double value : y) sum += value * value;
    EXPECT_NEAR(y.front(), expected[0], 1e-6);
    EXPECT_NEAR(y[(24 + 10) * 48 + 20], expected[1], 1e-6);
    EXPECT_NEAR(y.back(), expected[2], 1e-6);
    EXPECT_NEAR(sum, expected[3], 1e-6 * expected[3]);
}

TEST(SphereSelfCheck, OfTheTransformerWithNeighborhoodsHolds) {
    expect_self_check("neighborhood", {0.5836372, -0.4965289, -0.4498637, 1813.905});
}

TEST(SphereSelfCheck, OfTheGlobalTransformerHolds) {
    expect_self_check("global", {0.5865705, -0.4961725, -0.4494236, 1813.820});
}

// ---- stored embeddings ----

TEST(SphereEmbedding, ThatAFileHoldsWinsOverTheComputedOne) {
    ModelWriter writer = sphere_model(sphere_card(small_transformer()));
    const ModelOnDisk computed(writer.bytes());
    writer.tensors.insert(writer.tensors.begin(),
                          float_tensor("pos_embed.position_embeddings", {1, 8, 6, 12},
                                       std::vector<float>(8 * 6 * 12)));
    const ModelOnDisk zeros(writer.bytes());
    const std::vector<std::vector<float>> x = {wave(3 * 12 * 24, 0.6)};
    EXPECT_NE(evaluate(zeros.path(), x), evaluate(computed.path(), x));
    ModelWriter bare = sphere_model(sphere_card(small_transformer()));
    bare.card["network"]["pos_embed"] = "none";
    EXPECT_EQ(evaluate(zeros.path(), x), evaluate(ModelOnDisk(bare.bytes()).path(), x));
}

}  // namespace
}  // namespace surrogate::test
