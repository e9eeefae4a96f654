// SPDX-License-Identifier: Apache-2.0
// Invalid cards of the sphere: rejected on all ranks with the same text, which names a remedy.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/ranks.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

/// A file with this card and some weights: whether they fit is not asked before the card is read.
std::string file_of(const json& network, const json& more = json::object()) {
    ModelWriter writer;
    writer.card = changed(sphere_card(network), more);
    writer.tensors.push_back(float_tensor("weight", {1}, std::vector<float>{1}));
    return writer.bytes();
}

class SphereCard : public testing::Test {
protected:
    Answer load(const std::string& bytes) {
        const ModelOnDisk file(bytes);
        surrogate_model* model = nullptr;
        const Answer found =
            answer(surrogate_model_load(context.get(), file.path().c_str(), &model));
        EXPECT_EQ(model == nullptr, found.status != SURROGATE_SUCCESS);
        surrogate_model_destroy(&model);
        EXPECT_EQ(found, answer_of_rank_0(found, MPI_COMM_WORLD));
        EXPECT_TRUE(ranks_still_talk(MPI_COMM_WORLD));
        return found;
    }
    void expect_refused(const std::string& bytes, const std::vector<std::string>& parts,
                        surrogate_status status = SURROGATE_BAD_FILE) {
        const Answer found = load(bytes);
        EXPECT_EQ(found.status, status) << parts.front() << ": " << found;
        for (const std::string& part : parts)
            EXPECT_TRUE(found.says(part)) << part << ": " << found;
    }
    /// Returns the card of a small network with some keys changed.
    void expect_change_refused(const json& base, const json& changes,
                               const std::vector<std::string>& parts,
                               surrogate_status status = SURROGATE_BAD_FILE) {
        expect_refused(file_of(changed(base, changes)), parts, status);
    }

    Context context = mpi_context(MPI_COMM_WORLD);
    const json transformer = small_transformer(), segformer = small_segformer();
    const json attention = small_attention(), convolution = small_convolution();
};

TEST_F(SphereCard, OfUnknownConventionsIsRefused) {
    for (const char* release :
         {"torch-harmonics 0.7.4", "torch-harmonics 1.0.0", "torch-harmonics 0.9", "0.9.3",
          "torch-harmonics 0.9.3 or so", "pytorch 2", ""}) {
        expect_refused(file_of(transformer, {{"conventions", release}}),
                       {"conventions", "torch-harmonics 0.8.0 .. 0.9.3"});
    }
    expect_refused(file_of(transformer, {{"theta_cutoff_rule", "layers"}}),
                   {"theta_cutoff_rule 'layers'", "models"});
    expect_refused(file_of(transformer, {{"basis_norm_mode", "nodall"}}),
                   {"basis_norm_mode 'nodall'", "nodal"});
    expect_refused(file_of(transformer, {{"conventions", json::object()}}), {"conventions"});
}

TEST_F(SphereCard, OfOldLayersThatReadWrongColumnsIsNotBuilt) {
    expect_refused(file_of(changed(attention, {{"out_shape", {6, 12}}}),
                           {{"conventions", "torch-harmonics 0.9.0"}}),
                   {"before 0.9.1", "wrong longitudes"}, SURROGATE_NOT_SUPPORTED);
}

TEST_F(SphereCard, WithUnknownKeysIsRefusedWithNearMisses) {
    expect_change_refused(transformer, {{"embed_dims", 8}}, {"embed_dims", "embed_dim"});
    expect_change_refused(segformer, {{"dephts", {1, 2}}}, {"dephts", "depths"});
    expect_change_refused(attention, {{"num_head", 2}}, {"num_head", "num_heads"});
    expect_change_refused(convolution, {{"strides", 2}}, {"strides"});
    expect_change_refused(small_resampling(), {{"interpolation", "nearest"}}, {"interpolation"});
    expect_change_refused({{"layer", "NeighbourhoodAttentionS2"}}, {},
                          {"NeighbourhoodAttentionS2", "NeighborhoodAttentionS2"});
    expect_change_refused({{"model", "SphericalTransfromer"}}, {},
                          {"SphericalTransfromer", "SphericalTransformer"});
    expect_refused(file_of({{"nlat", 16}}), {"neither a model nor a layer"},
                   SURROGATE_NOT_SUPPORTED);
}

TEST_F(SphereCard, WithLongitudesThatDoNotDivideIsToldWhatWould) {
    expect_change_refused(transformer, {{"img_size", {12, 25}}},
                          {"25 longitudes", "divided by 2", "24 or 26"});
    expect_change_refused(transformer, {{"scale_factor", 5}}, {"24 longitudes", "20 or 25"});
    expect_change_refused(segformer, {{"img_size", {24, 50}}},
                          {"50 longitudes", "divided by 4", "48 or 52"});
    expect_change_refused(attention, {{"out_shape", {12, 9}}}, {"24 and 9 longitudes", "24"});
    expect_change_refused(convolution, {{"out_shape", {12, 7}}},
                          {"24 longitudes", "divided by 7", "21 or 28"});
    expect_change_refused(convolution,
                          {{"layer", "DiscreteContinuousConvTransposeS2"}, {"in_shape", {6, 7}}},
                          {"24 longitudes", "divided by 7", "21 or 28"});
}

TEST_F(SphereCard, WithLevelsOfOneRowIsRefused) {
    expect_change_refused(segformer, {{"img_size", {6, 48}}}, {"1 x 12", "2 rows"});
    expect_change_refused(transformer, {{"scale_factor", 12}}, {"1 x 2", "2 rows"});
    expect_change_refused(transformer, {{"img_size", {1, 24}}}, {"img_size"});
}

TEST_F(SphereCard, OfSizesThatDoNotFitTogetherIsRefused) {
    expect_change_refused(transformer, {{"num_heads", 3}}, {"num_heads is 3", "divisor of 8"});
    expect_change_refused(segformer, {{"heads", {1, 4}}}, {"heads is 4", "divisor of 6"});
    expect_change_refused(segformer, {{"heads", {1, 2, 1}}}, {"same length"});
    expect_change_refused(transformer, {{"out_chans", 2}}, {"residual_prediction"});
    expect_change_refused(transformer, {{"mlp_ratio", 0.05}}, {"mlp_ratio"});
    expect_change_refused(attention, {{"k_channels", 5}}, {"num_heads is 2", "divisor of 5"});
    expect_change_refused(convolution, {{"groups", 2}}, {"groups is 2", "divisor of 3"});
    expect_change_refused(convolution, {{"kernel_shape", {3}}, {"basis_type", "harmonic"}},
                          {"expected two for basis"});
    expect_change_refused(transformer, {{"filter_basis_type", "harmonic"}}, {"no cutoff"});
    for (const char* key : {"in_channels", "in_shape", "out_shape"})
        expect_change_refused(attention, {{key, nullptr}}, {key});
    for (const char* key : {"in_channels", "out_channels", "in_shape", "out_shape", "kernel_shape"})
        expect_change_refused(convolution, {{key, nullptr}}, {key});
}

TEST_F(SphereCard, OfHugeNetworksIsRefusedBeforeTheyTakeMemory) {
    expect_change_refused(transformer, {{"num_layers", 9999}}, {"tensors"});
    expect_change_refused(segformer, {{"depths", {9999, 9999}}}, {"tensors"});
    expect_change_refused(transformer, {{"num_layers", 1e9}}, {"num_layers"});
}

TEST_F(SphereCard, WithOtherNamesForDropoutIsRefused) {
    // drop_rate moves the second layer of the MLP from fwd.2 to fwd.3.
    ModelWriter writer = sphere_model(sphere_card(changed(transformer, {{"drop_rate", 0.1}})));
    EXPECT_EQ(load(writer.bytes()).status, SURROGATE_SUCCESS);
    writer.card["network"].erase("drop_rate");
    expect_refused(writer.bytes(), {"blocks.0.mlp.fwd.2.weight", "blocks.0.mlp.fwd.3.weight"});
}

// ---- what planning finds ----

class SphereCardPlan : public SphereCard {
protected:
    void expect_plan_refused(const json& network, const std::vector<std::string>& parts,
                             surrogate_status status) {
        const ModelOnDisk file(network);
        const Model model(context, file.path());
        const SphereBlock in(model.input_domain(), {.name = ""}, context.rank(), context.size());
        const SphereBlock out(model.output_domain(), {.name = ""}, context.rank(), context.size());
        const Domain input(context, in.sphere()), output(context, out.sphere());
        surrogate_plan* plan = nullptr;
        const Answer found =
            answer(surrogate_plan_create(model.get(), input.get(), output.get(), nullptr, &plan));
        EXPECT_EQ(plan, nullptr);
        EXPECT_EQ(found.status, status) << found;
        for (const std::string& part : parts)
            EXPECT_TRUE(found.says(part)) << part << ": " << found;
        EXPECT_EQ(found, answer_of_rank_0(found, MPI_COMM_WORLD));
        EXPECT_TRUE(ranks_still_talk(MPI_COMM_WORLD));
    }
};

TEST_F(SphereCardPlan, WithEmptyNeighborhoodsNamesTheRow) {
    // Cells of 30 degrees: the middle rows of a grid twice as fine lie between them. They belong to
    // some rank only: one rank fails, all are told.
    expect_plan_refused(
        changed(attention, {{"in_shape", {3, 24}}, {"out_shape", {24, 24}}, {"theta_cutoff", 0.1}}),
        {"output row", "no neighbor within theta_cutoff = 0.1", "from 0.1"},
        SURROGATE_INVALID_ARGUMENT);
}

TEST_F(SphereCardPlan, WithoutTransformOfItsGridIsRefused) {
    expect_plan_refused(changed(transformer, {{"grid_internal", "equiangular-trapezoidal"}}),
                        {"equiangular-trapezoidal", "no spherical harmonic transform"},
                        SURROGATE_INVALID_ARGUMENT);
    expect_plan_refused(changed(transformer, {{"grid_internal", "equiangular-trapezoidal"},
                                              {"pos_embed", "none"},
                                              {"upsample_sht", true}}),
                        {"upsample_sht", "equiangular-trapezoidal"}, SURROGATE_BAD_FILE);
}

TEST_F(SphereCardPlan, WithMoreSpectralChannelsThanHarmonicsIsRefused) {
    expect_plan_refused(changed(transformer, {{"embed_dim", 38}}), {"1 to 36 channels, got 38"},
                        SURROGATE_INVALID_ARGUMENT);
}

TEST_F(SphereCardPlan, InDoubleNeedsTheReferenceOnAllRanks) {
    const ModelOnDisk file(attention);
    const Model model(context, file.path());
    const SphereBlock block(model.input_domain(), {.name = ""}, context.rank(), context.size());
    const Domain domain(context, block.sphere());
    const Options options{{"precision", "fp64"}, {"backend", "simd"}};
    surrogate_plan* plan = nullptr;
    const Answer found =
        answer(surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan));
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_EQ(found, answer_of_rank_0(found, MPI_COMM_WORLD));
    EXPECT_EQ(plan, nullptr);
}

}  // namespace
}  // namespace surrogate::test
