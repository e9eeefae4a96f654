// SPDX-License-Identifier: Apache-2.0
// FLARE as the laws see it: any points, known by their ids.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "tests/libsurrogate/conformance/point_family.hpp"
#include "tests/libsurrogate/conformance/point_share.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/data_path.hpp"
#include "tests/support/small_darcy_model.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

std::shared_ptr<const std::string> small_model() {
    return std::make_shared<const std::string>(small_darcy_model());
}

using nlohmann::json;

/// A variant with weights of its own.
auto variant(const json& network, const json& changes) {
    const json card = {{"format", 1}, {"family", "flare"}, {"network", changed(network, changes)}};
    return filled(card, sphere_model);
}
/// A network of at most 200 tokens and 11 words, as the properties use them.
auto sequence(const json& changes) {
    return variant({{"model", "ModelWrapper"},
                    {"task", "listops"},
                    {"vocab_size", 11},
                    {"num_labels", 1},
                    {"max_length", 200},
                    {"channel_dim", 16},
                    {"num_heads", 2},
                    {"num_blocks", 2},
                    {"num_latents", 5},
                    {"ffn_hidden_dim", 32}},
                   changes);
}
auto ablation(const json& changes) {
    return variant({{"model", "BigFLAREModel"},
                    {"in_dim", 2},
                    {"out_dim", 1},
                    {"channel_dim", 16},
                    {"num_heads", 2},
                    {"num_blocks", 2}},
                   changes);
}

const OptionList reproducible = {{"reproducible", "true"}};

FamilyCase make_flare() {
    FamilyCase flare = point_family("Flare");
    flare.networks = {
        {.name = "TwoBlocksOfPoints",
         .file = small_model,
         .has_fields = true,
         .is_divided = true,
         .n_point = 1500},
        // Fewer points than the model has latents.
        {.name = "Darcy", .file = stored(darcy_model), .has_fields = true, .n_point = 60},
        {.name = "Fields",
         .file = small_model,
         .has_fields = true,
         .is_small = true,
         .n_point = 60},
        {.name = "NoPoint", .file = small_model, .has_fields = true, .n_point = 0},
        {.name = "OnePoint", .file = small_model, .has_fields = true, .n_point = 1},
        {.name = "TwoPoints", .file = small_model, .has_fields = true, .n_point = 2},
        {.name = "Tiny",
         .file = stored(stored_case("flare/tiny")),
         .is_small = true,
         .n_point = 20},
        {.name = "EveryOption",
         .file = stored(stored_case("flare/tiny_options")),
         .is_small = true,
         .n_point = 20},
        {.name = "TwoOutputs", .file = stored(stored_case("flare/odd")), .n_point = 130},
        {.name = "ChainsOfAllDepths", .file = stored(stored_case("flare/layers")), .n_point = 57},
        {.name = "SharedLatents",
         .file = stored(stored_case("flare/ablation_shared")),
         .n_point = 37},
        {.name = "LatentBlocks",
         .file = stored(stored_case("flare/ablation_latent_blocks")),
         .is_small = true,
         .n_point = 20},
        {.name = "LatentBlocksOfTwoTiles",
         .file = ablation({{"num_latents", 100}, {"num_latent_blocks", 2}}),
         .n_point = 50},
        {.name = "OfPhysicsNemo",
         .file = stored(stored_case("flare/physicsnemo_time")),
         .is_small = true,
         .n_point = 70},
        {.name = "MeanOfTokens", .file = sequence({}), .n_point = 150},
        {.name = "LargestOfTokens",
         .file = sequence({{"pool", "max"}, {"pos_embed", "rope"}}),
         .n_point = 100},
        {.name = "ClassToken",
         .file = sequence({{"pool", "cls"}, {"pos_embed", "abs"}, {"task", "image"}}),
         .n_point = 200},
        {.name = "ClassTokenAlone", .file = sequence({{"pool", "cls"}}), .n_point = 0},
        {.name = "EachToken", .file = stored(stored_case("flare/lra_tokens_mask")), .n_point = 12},
    };
    for (NetworkCase& network : flare.networks) network.n_failing_in_turn = 1000;  // all
    for (const std::string name :
         {"tiny", "tiny_options", "odd", "mid", "layers", "ablation_shared",
          "ablation_latent_blocks", "physicsnemo_small", "physicsnemo_ratio2", "physicsnemo_time"})
        flare.goldens.push_back({name, stored_case("flare/" + name), 1e-12});
    const std::vector<RefusedPlan> refused = {
        {"OnTheSphere", "Fields", {}, a_sphere, SURROGATE_NOT_SUPPORTED, "scattered points"},
        {"WithTooFewCoordinates",
         "Darcy",
         {},
         some_points(5, 1, {}),
         SURROGATE_SHAPE,
         "1 coordinates"},
        {"WithoutIdsAndCoordinates", "Tiny", reproducible, some_points(5, 0, {}),
         SURROGATE_INVALID_ARGUMENT, "give the domain global ids or coordinates"},
        {"WithAPointGivenTwice", "Tiny", reproducible, some_points(3, 2, {7, 8, 7}),
         SURROGATE_INVALID_ARGUMENT, "global id 7"},
        {"OfASequenceWithoutOrder",
         "MeanOfTokens",
         {},
         some_points(5, 0, {}),
         SURROGATE_INVALID_ARGUMENT,
         "a sequence needs an order of the points: give the domain global ids"},
        {"OfASequenceThatIsTooLong",
         "EachToken",
         {},
         some_points(13, 1, {}),
         SURROGATE_SHAPE,
         "max_length 12; cut the sequence"},
    };
    refuse(flare, refused);
    return flare;
}

const FamilyCase& flare_case() {
    static const FamilyCase flare = make_flare();
    return flare;
}

/// Runs of plans with a backward pass: the same properties.
FamilyCase make_flare_with_gradients() {
    FamilyCase flare = make_flare();
    flare.name = "FlareWithGradients";
    std::erase_if(flare.networks, [](const NetworkCase& network) {
        const std::string names[] = {
            "TwoBlocksOfPoints", "Fields",        "NoPoint",         "OnePoint",
            "EveryOption",       "SharedLatents", "LatentBlocks",    "LatentBlocksOfTwoTiles",
            "OfPhysicsNemo",     "MeanOfTokens",  "LargestOfTokens", "ClassToken",
            "ClassTokenAlone",   "EachToken"};
        return std::ranges::find(names, network.name) == std::end(names);
    });
    for (NetworkCase& network : flare.networks) network.n_failing_in_turn = 50;
    for (Mode& mode : flare.modes)
        mode.options.emplace_back("gradients", mode.name == "Fast" ? "true" : "recompute");
    flare.goldens.clear();
    flare.refused_plans.clear();
    return flare;
}

const FamilyCase& flare_case_with_gradients() {
    static const FamilyCase flare = make_flare_with_gradients();
    return flare;
}

[[maybe_unused]] const bool is_listed =
    add_family(flare_case) && add_family(flare_case_with_gradients);

}  // namespace
}  // namespace surrogate::test
