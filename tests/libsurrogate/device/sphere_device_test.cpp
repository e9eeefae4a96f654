// SPDX-License-Identifier: Apache-2.0
// The spherical Transformer and SegFormer with backend cuda on one rank: every variant against the
// host in double, stored cases in every precision. On an emulated device, and on a real one where
// there is one.
#include <cmath>
#include <cstring>
#include <random>

#include "tests/support/answer.hpp"
#include "tests/support/device_accuracy.hpp"
#include "tests/support/device_case.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;
using Inputs = std::vector<std::vector<float>>;

class SphereDevice : public OnDevice {
protected:
    std::vector<double> run(const Model& model, const Inputs& inputs, const Options& options,
                            const SphereLayout& layout = {}) {
        SphereRun plan(*context, model, layout, options);
        plan.fill(inputs);
        check(plan.run_network());
        return plan.result().points();
    }
    std::vector<double> on_device(const Model& model, const Inputs& inputs,
                                  const std::string& precision = "fp32") {
        return run(model, inputs, {{"backend", "cuda"}, {"precision", precision}});
    }
    std::vector<double> in_double(const Model& model, const Inputs& inputs) {
        return run(model, inputs, {{"precision", "fp64"}});
    }
};
INSTANTIATE_TEST_SUITE_P(On, SphereDevice, testing::Values(emulated_kind, real_kind),
                         name_of_device);

/// Networks whose differences the kernels must distinguish. Rings of 12 columns are shorter than a
/// tile, rings of 36 and 34 end within one, rings of 32 with one.
const std::vector<std::pair<std::string, json>>& variants() {
    static const std::vector<std::pair<std::string, json>> list = {
        {"instance norm", json::object()},
        {"layer norm", {{"normalization_layer", "layer_norm"}, {"bias", true}}},
        {"no norm", {{"normalization_layer", "none"}, {"activation_function", "relu"}}},
        {"without residual", {{"residual_prediction", false}, {"out_chans", 5}}},
        {"one head of odd width", {{"num_heads", 1}, {"embed_dim", 11}}},
        {"heads of padded width", {{"num_heads", 3}, {"embed_dim", 33}}},
        {"wide head", {{"num_heads", 1}, {"embed_dim", 136}, {"pos_embed", "sequence"}}},
        {"sequence, identity", {{"pos_embed", "sequence"}, {"activation_function", "identity"}}},
        {"learnable lat", {{"pos_embed", "learnable lat"}}},
        {"learnable latlon", {{"pos_embed", "learnable latlon"}, {"drop_rate", 0.1}}},
        {"no embedding", {{"pos_embed", "none"}}},
        {"without mlp", {{"use_mlp", false}}},
        {"without mlp, layer norm", {{"use_mlp", false}, {"normalization_layer", "layer_norm"}}},
        {"without layers", {{"num_layers", 0}}},
        {"gauss", {{"grid", "legendre-gauss"}, {"img_size", {17, 64}}}},
        {"gauss to equiangular", {{"grid_internal", "equiangular"}, {"img_size", {17, 72}}}},
        {"lobatto", {{"grid", "lobatto"}, {"grid_internal", "lobatto"}}},
        {"trapezoids", {{"grid_internal", "equiangular-trapezoidal"}, {"pos_embed", "none"}}},
        {"thirds", {{"img_size", {13, 27}}, {"scale_factor", 3}}},
        {"same grid",
         {{"img_size", {9, 34}}, {"scale_factor", 1}, {"grid_internal", "equiangular"}}},
        {"other grid of the same size", {{"scale_factor", 1}}},
        {"wide neighborhoods", {{"theta_cutoff", 1.2}, {"img_size", {13, 64}}}},
        {"global", {{"attention_mode", "global"}}},
        {"global, ragged", {{"attention_mode", "global"}, {"img_size", {9, 68}}, {"num_heads", 1}}},
        {"few rows", {{"img_size", {4, 8}}, {"pos_embed", "sequence"}}},
        {"morlet", {{"filter_basis_type", "morlet"}, {"encoder_kernel_shape", {3, 3}}}},
        {"paper release", {{"bias", true}, {"conventions", "torch-harmonics 0.8.0"}}},
    };
    return list;
}

const std::vector<std::pair<std::string, json>>& segformers() {
    static const std::vector<std::pair<std::string, json>> list = {
        {"segformer", json::object()},
        {"transposed upsampling", {{"upsampling_method", "conv"}}},
        {"relu, bias", {{"activation_function", "relu"}, {"bias", true}}},
        {"global, lobatto", {{"attention_mode", "global"}, {"grid_internal", "lobatto"}}},
        {"odd rows", {{"img_size", {27, 36}}, {"out_chans", 5}}},
        {"thirds of gauss",
         {{"img_size", {28, 54}}, {"scale_factor", 3}, {"grid_internal", "legendre-gauss"}}},
        {"levels of ragged rings", {{"img_size", {8, 40}}, {"upsampling_method", "conv"}}},
        {"channels beyond a block",
         {{"embed_dims", {33, 68}}, {"heads", {3, 4}}, {"activation_function", "identity"}}},
        {"one level without repetitions", {{"embed_dims", {6}}, {"heads", {1}}, {"depths", {0}}}},
        {"three levels", {{"embed_dims", {4, 6, 8}}, {"heads", {1, 2, 2}}, {"depths", {1, 1, 1}}}},
        {"paper release",
         {{"upsampling_method", "conv"}, {"bias", true}, {"conventions", "torch-harmonics 0.8.0"}}},
    };
    return list;
}

json card_of(const json& base, const json& changes) {
    json network = changed(base, changes);
    const json conventions = network.value("conventions", json());
    network.erase("conventions");
    json card = sphere_card(network);
    if (!conventions.is_null()) card["conventions"] = conventions;
    return card;
}

TEST_P(SphereDevice, EveryVariantIsThatOfTheHost) {
    const auto compare = [&](const json& base, const auto& list) {
        for (const auto& [name, changes] : list) {
            const ModelOnDisk disk(sphere_model(card_of(base, changes)).bytes());
            const Model model(*context, disk.path());
            const Inputs inputs = wave_inputs(model);
            const std::vector<double> exact = in_double(model, inputs);
            const double host = relative_l2(run(model, inputs, {}), exact);
            EXPECT_LE(relative_l2(on_device(model, inputs), exact), bound_of_fp32(host)) << name;
        }
    };
    compare(small_transformer(), variants());
    compare(small_segformer(), segformers());
}

/// A network drawn from what a device takes.
json drawn(std::mt19937& random) {
    const auto below = [&](unsigned n) { return static_cast<int64_t>(random() % n); };
    const char* const grids[] = {"equiangular", "legendre-gauss", "lobatto"};
    const char* const norms[] = {"none", "layer_norm", "instance_norm"};
    const char* const embeddings[] = {"none", "sequence", "learnable lat", "learnable latlon"};
    const int64_t factor = 1 + below(3), n_head = 1 + below(4), n_channel = 1 + below(4);
    return {{"img_size", {factor * (3 + below(7)), factor * (4 + below(40))}},
            {"scale_factor", factor},
            {"grid", grids[below(3)]},
            {"grid_internal", grids[below(3)]},
            {"num_heads", n_head},
            {"embed_dim", n_head * (1 + below(24))},
            {"mlp_ratio", 0.5 + 0.5 * static_cast<double>(1 + below(4))},
            {"normalization_layer", norms[below(3)]},
            {"pos_embed", embeddings[below(4)]},
            {"attention_mode", below(3) == 0 ? "global" : "neighborhood"},
            {"in_chans", n_channel},
            {"out_chans", n_channel},
            {"residual_prediction", below(2) == 0},
            {"bias", below(2) == 0},
            {"num_layers", 1 + below(2)}};
}

TEST_P(SphereDevice, DrawnNetworksAreThoseOfTheHost) {
    std::mt19937 random(20);
    for (int i = 0; i < 40; ++i) {
        const json network = changed(small_transformer(), drawn(random));
        const ModelOnDisk disk(network);
        const Model model(*context, disk.path());
        const Inputs inputs = wave_inputs(model);
        const std::vector<double> exact = in_double(model, inputs);
        const double host = relative_l2(run(model, inputs, {}), exact);
        EXPECT_LE(relative_l2(on_device(model, inputs), exact), bound_of_fp32(host)) << network;
    }
}

TEST_P(SphereDevice, StoredCasesAreAsCloseAsPyTorch) {
    for (const char* name : {"transformer_neighborhood_24x48", "transformer_global_24x48",
                             "transformer_heads_bias_33x64", "transformer_paper_64x128",
                             "segformer_neighborhood_64x128", "segformer_global_48x96"}) {
        const std::string path =
            SURROGATE_TEST_DATA "/sphere/" + std::string(name) + ".safetensors";
        const GoldenFile file(path);
        const Model model(*context, path);
        const std::vector<double> x = file.tensor("check/input/x").part(0);
        const std::vector<double> truth = file.tensor("check/output64/y").part(0);
        const double official = relative_l2(file.tensor("check/output/y").part(0), truth);
        SphereRun plan(*context, model, {}, {{"backend", "cuda"}});
        plan.fill({std::vector<float>(x.begin(), x.end())});
        check(plan.run_network());
        EXPECT_LE(relative_l2(plan.result().points(), plan.result().points_of(truth)),
                  bound_of_fp32(official))
            << name;
    }
}

// ---- narrow operands ----

bool is_matrix(const WriterTensor& tensor) {
    return (tensor.name.ends_with("weight") || tensor.name.ends_with("weights")) &&
           tensor.name.find("norm") == std::string::npos;
}

// As for other families: every product rounds two operands, and probabilities and values are
// rounded again: about four independent errors of the size that rounding the weights alone makes.
TEST_P(SphereDevice, NarrowOperandsCostWhatRoundingCosts) {
    const json transformer = {{"embed_dim", 32}, {"num_heads", 2}, {"residual_prediction", false}};
    const json segformer = {{"embed_dims", {16, 32}}};
    for (const json& card :
         {card_of(small_transformer(), transformer),
          card_of(small_transformer(), changed(transformer, {{"attention_mode", "global"}})),
          card_of(small_segformer(), segformer),
          card_of(small_segformer(), changed(segformer, {{"upsampling_method", "conv"}}))}) {
        const ModelOnDisk disk(sphere_model(card).bytes());
        const Model model(*context, disk.path());
        const Inputs inputs = wave_inputs(model);
        const std::vector<double> exact = in_double(model, inputs);
        for (const auto& [precision, n_bit] :
             {std::pair("tf32", 10), std::pair("fp16", 10), std::pair("bf16", 7)}) {
            const ModelOnDisk narrow(rounded(sphere_model(card), n_bit, is_matrix).bytes());
            const double cost =
                relative_l2(in_double(Model(*context, narrow.path()), inputs), exact);
            const double error = relative_l2(on_device(model, inputs, precision), exact);
            EXPECT_LE(error, 4 * cost) << precision << " " << card;
            EXPECT_GE(error, cost / 8) << precision << " " << card;  // really used
        }
    }
}

// ---- grids of solvers, faults, errors ----

TEST_P(SphereDevice, BitsDoNotDependOnHowTheSolverCountsRowsAndColumns) {
    const ModelOnDisk disk(small_transformer());
    const Model model(*context, disk.path());
    const Inputs inputs = wave_inputs(model);
    const Options options{{"backend", "cuda"}};
    SphereRun plain(*context, model, {}, options);
    SphereRun turned(*context, model, {.name = "", .south_first = true, .shift = 5}, options);
    for (SphereRun* plan : {&plain, &turned}) {
        plan->fill(inputs);
        check(plan->run_network());
    }
    const int64_t n_channel = 3, n = plain.out_block.n_model_point();
    const std::vector<double> points = plain.result().points();
    std::vector<double> whole(points.size());
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t c = 0; c < n_channel; ++c)
            whole[static_cast<size_t>(c * n + i)] = points[static_cast<size_t>(i * n_channel + c)];
    }
    EXPECT_EQ(turned.result().points(), turned.result().points_of(whole));
}

TEST_P(SphereDevice, BadInputsAreNamedAndLeaveNoTrace) {
    for (const json& network :
         {small_transformer(), changed(small_transformer(), {{"normalization_layer", "none"}}),
          small_segformer()}) {
        const ModelOnDisk disk(network);
        const Model model(*context, disk.path());
        const Inputs inputs = wave_inputs(model);
        SphereRun plan(*context, model, {}, {{"backend", "cuda"}});
        plan.fill(inputs);
        check(plan.run_network());
        const std::vector<double> expected = plan.result().points();
        Inputs bad = inputs;
        bad[0][static_cast<size_t>(5 * plan.in_block.n_lon() + 7)] = NAN;
        plan.fill(bad);
        const Answer found = answer(plan.run_network());
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
        EXPECT_TRUE(found.says("row 5, column 7")) << found;
        for (const double value : plan.result().points()) EXPECT_TRUE(std::isnan(value));
        plan.fill(inputs);
        check(plan.run_network());
        EXPECT_EQ(plan.result().points(), expected) << network;
    }
}

TEST_P(SphereDevice, OverflowInsideIsFoundAndLeavesNoTrace) {
    for (const char* mode : {"neighborhood", "global"}) {
        const ModelOnDisk disk(changed(small_transformer(), {{"attention_mode", mode},
                                                             {"normalization_layer", "none"},
                                                             {"num_heads", 1},
                                                             {"embed_dim", 11}}));
        const Model model(*context, disk.path());
        const Inputs inputs = wave_inputs(model);
        SphereRun plan(*context, model, {}, {{"backend", "cuda"}});
        plan.fill(inputs);
        check(plan.run_network());
        const std::vector<double> expected = plan.result().points();
        Inputs large = inputs;
        for (float& value : large[0]) value *= 3e37F;  // scores are beyond float's range
        plan.fill(large);
        EXPECT_EQ(answer(plan.run_network()).status, SURROGATE_NOT_FINITE) << mode;
        plan.fill(inputs);
        check(plan.run_network());
        EXPECT_EQ(plan.result().points(), expected) << mode;
    }
}

TEST_P(SphereDevice, ArraysOnTheDeviceAreReadWhereTheyLie) {
    const ModelOnDisk disk(small_transformer());
    const Model model(*context, disk.path());
    const Inputs inputs = wave_inputs(model);
    SphereRun plan(*context, model, {}, {{"backend", "cuda"}});
    plan.fill(inputs);
    check(plan.run_network());
    const std::vector<double> expected = plan.result().points();
    const int64_t n = plan.in_block.n_point();
    const std::vector<float> interlaced = plan.fields.front().values();
    const DeviceArray<float> x(*device, interlaced);
    const DeviceArray<float> y(*device, std::vector<float>(interlaced.size(), -1));
    const surrogate_named_array in{"x", x.matrix(n, 3)}, out{"y", y.matrix(n, 3)};
    check(surrogate_plan_run_network(plan.plan.get(), 1, &in, 1, &out));
    const std::vector<float> found = y.get();
    EXPECT_EQ(std::vector<double>(found.begin(), found.end()), expected);
}

TEST_P(SphereDevice, WeightsAreFollowedAlsoInTheEmbedding) {
    const ModelOnDisk disk(changed(small_transformer(), {{"pos_embed", "learnable latlon"}}));
    const Model model(*context, disk.path());
    const Inputs inputs = wave_inputs(model);
    SphereRun plan(*context, model, {}, {{"backend", "cuda"}});
    plan.fill(inputs);
    check(plan.run_network());
    const std::vector<double> before = plan.result().points();
    const std::shared_ptr<impl::MasterWeights>& weights = model.get()->model->weights();
    const auto* const entry = weights->find("pos_embed.position_embeddings");
    ASSERT_NE(entry, nullptr);
    for (int64_t i = 0; i < entry->size; ++i)
        weights->values()[static_cast<size_t>(entry->first + i)] *= 0.5F;
    weights->refresh();
    check(plan.run_network());
    EXPECT_NE(plan.result().points(), before);
    EXPECT_EQ(plan.result().points(), on_device(model, inputs));
}

TEST_P(SphereDevice, WhatIsNotBuiltIsRefusedByName) {
    const json transformer = small_transformer();
    const std::vector<std::tuple<json, SphereLayout, const char*>> refused = {
        {changed(transformer, {{"upsample_sht", true}}), {}, "upsample_sht"},
        {transformer, {.name = "", .ghosts = 1}, "lat_stride 26"},
        {transformer, {.name = "", .is_latitude_fastest = true}, "lon_stride 12"},
        {small_convolution(), {}, "SphericalTransformer"},
        {small_attention(), {}, "SphericalTransformer"},
    };
    for (const auto& [network, layout, says] : refused) {
        const ModelOnDisk disk(network);
        const Model model(*context, disk.path());
        const SphereBlock in(model.input_domain(), layout, 0, 1);
        const SphereBlock out(model.output_domain(), layout, 0, 1);
        const Domain input(*context, in.sphere()), output(*context, out.sphere());
        surrogate_plan* plan = nullptr;
        const Options options{{"backend", "cuda"}};
        const Answer found = answer(
            surrogate_plan_create(model.get(), input.get(), output.get(), options.get(), &plan));
        EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
        EXPECT_TRUE(found.says(says) && found.says("simd")) << found;
        surrogate_plan_destroy(&plan);
    }
}

}  // namespace
}  // namespace surrogate::test
