// SPDX-License-Identifier: Apache-2.0
// Models and layers on grids of the sphere as the laws see them.
#include "tests/support/sphere_case.hpp"

#include "tests/libsurrogate/conformance/family_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

/// Memory layout of a solver's block, another one for each partition.
SphereLayout layout_of(const std::string& partition) {
    if (partition == "scattered")
        return {.name = "", .partition = partition, .with_nodes = true, .ghosts = 1};
    if (partition == "first") return {.name = "", .south_first = true, .shift = 3};
    if (partition == "last") return {.name = "", .is_latitude_fastest = true};
    return {.name = "", .partition = partition};
}

SphereBlock block_of(const surrogate_domain_info& grid, const std::string& partition, int rank,
                     int size) {
    SphereLayout layout = layout_of(partition);
    if (partition != "first" && partition != "last") return {grid, layout, rank, size};
    if (rank == (partition == "first" ? 0 : size - 1)) return {grid, layout, 0, 1};
    // Rank 0 of two has no row of an uneven partition.
    layout.partition = "uneven";
    return {grid, layout, 0, 2};
}

Share sphere_share(const surrogate_domain_info& grid, int64_t, const std::string& partition,
                   int rank, int size) {
    const auto block = std::make_shared<SphereBlock>(block_of(grid, partition, rank, size));
    Share share{.n_place = block->memory_size(), .first = block->first_point()};
    for (int64_t i = 0; i < block->n_lat(); ++i) {
        for (int64_t j = 0; j < block->n_lon(); ++j) {
            share.points.push_back(block->model_index(i, j));
            share.places.push_back(block->place(i, j));
        }
    }
    share.create = [block](surrogate_context* context, surrogate_domain** domain) {
        const surrogate_sphere sphere = block->sphere();
        return surrogate_domain_create_sphere(context, &sphere, domain);
    };
    share.name_of = [block](size_t i) {
        const auto point = static_cast<int64_t>(i);
        const surrogate_sphere sphere = block->sphere();
        return "row " + std::to_string(sphere.first_lat + point / block->n_lon()) + ", column " +
               std::to_string(sphere.first_lon + point % block->n_lon());
    };
    return share;
}

NetworkCase network(const std::string& name, const json& network, int n_in = 0, int n_out = 0) {
    NetworkCase c{.name = name, .has_fields = n_in > 0};
    c.file = [=] {
        const auto disk = std::make_shared<const ModelOnDisk>(network, n_in, n_out);
        return std::shared_ptr<const std::string>(disk, &disk->path());
    };
    c.n_trim = 12;  // two lists of each of at most six convolutions
    return c;
}
NetworkCase small(NetworkCase c) {
    c.is_small = c.is_divided = true;
    return c;
}

/// Every kind of layer, on grids that do not divide by 2, 3 or 5 ranks.
std::vector<NetworkCase> networks() {
    const json transformer = small_transformer(), segformer = small_segformer();
    const json attention = small_attention(), convolution = small_convolution();
    return {
        small(network("Transformer", transformer, 3, 3)),
        network("TransformerGauss", changed(transformer, {{"grid", "legendre-gauss"}})),
        network("TransformerGlobal",
                changed(transformer, {{"img_size", {15, 24}}, {"attention_mode", "global"}}), 3, 3),
        small(network("TransformerHarmonicGlobal",
                      changed(transformer, {{"upsample_sht", true}, {"attention_mode", "global"}}),
                      3, 3)),
        small(network("TransformerSequence", changed(transformer, {{"pos_embed", "sequence"}}))),
        network("TransformerHarmonicSequence",
                changed(transformer, {{"upsample_sht", true}, {"pos_embed", "sequence"}})),
        network("TransformerLayerNormPolesOddThirds",
                changed(transformer, {{"img_size", {13, 27}},
                                      {"scale_factor", 3},
                                      {"grid_internal", "equiangular"},
                                      {"pos_embed", "learnable lat"},
                                      {"normalization_layer", "layer_norm"}})),
        network("TransformerOfDividedRows", changed(transformer, {{"img_size", {12, 64}}})),
        network("TransformerWithoutLayers", changed(transformer, {{"num_layers", 0}})),
        small(network("Segformer", segformer)),
        small(network("SegformerTransposed",
                      changed(segformer, {{"upsampling_method", "conv"}, {"out_chans", 3}}), 3, 3)),
        network("SegformerTransposedGlobal",
                changed(segformer, {{"upsampling_method", "conv"},
                                    {"attention_mode", "global"},
                                    {"grid_internal", "legendre-gauss"}})),
        network("SegformerOfFewRows",  // levels of 4 and 2 rows
                changed(segformer, {{"img_size", {8, 16}}, {"upsampling_method", "conv"}})),
        small(network("Attention", attention)),
        network("AttentionNormed", changed(attention, {{"use_qknorm", true}})),
        network("AttentionWideHalo",
                changed(attention,
                        {{"in_shape", {7, 12}}, {"out_shape", {7, 12}}, {"theta_cutoff", 1.6}})),
        network("AttentionOfDividedRows",
                changed(attention, {{"in_shape", {6, 40}}, {"out_shape", {6, 40}}})),
        network("AttentionCoarser", changed(attention, {{"out_shape", {5, 8}}})),
        small(network("AttentionCoarserByTwo", changed(attention, {{"out_shape", {6, 12}}}))),
        network("AttentionFiner", changed(attention, {{"in_shape", {5, 8}}})),
        network("AttentionGlobal", changed(small_attention(true), {{"out_shape", {5, 12}}})),
        small(network("Convolution", changed(convolution, {{"out_channels", 3}}), 3, 3)),
        network("ConvolutionCoarser", changed(convolution, {{"out_shape", {7, 12}}})),
        network("ConvolutionTransposed",
                changed(convolution,
                        {{"layer", "DiscreteContinuousConvTransposeS2"}, {"in_shape", {7, 12}}})),
        network("ConvolutionWeightsFirst",
                changed(convolution, {{"in_channels", 24}, {"out_channels", 1}})),
        small(network("Resampling", small_resampling())),
        network("ResamplingSame",
                changed(small_resampling(), {{"in_shape", {12, 24}}, {"grid_in", "equiangular"}})),
        network("TwoRows", changed(attention, {{"in_shape", {2, 6}}, {"out_shape", {2, 6}}})),
    };
}

/// A grid on rank 0 alone; the others own no row of it.
surrogate_status grid_of(surrogate_context* context, surrogate_domain** domain, int64_t n_lat,
                         double first_longitude) {
    int32_t rank = 0, size = 0;
    check(surrogate_context_rank(context, &rank, &size));
    surrogate_sphere sphere{};
    sphere.grid = "equiangular";
    sphere.n_lat = n_lat;
    sphere.n_lat_local = rank == 0 ? n_lat : 0;
    sphere.n_lon = sphere.n_lon_local = 24;
    sphere.first_longitude = first_longitude;
    return surrogate_domain_create_sphere(context, &sphere, domain);
}

surrogate_status points(surrogate_context* context, surrogate_domain** input, surrogate_domain**) {
    const double none = 0;
    const surrogate_points given{matrix(&none, 0, 2), nullptr, nullptr, nullptr};
    return surrogate_domain_create_points(context, &given, input);
}

FamilyCase make_sphere() {
    const auto of_other_size = [](surrogate_context* context, surrogate_domain** input,
                                  surrogate_domain**) { return grid_of(context, input, 11, 0); };
    const auto at_half_steps = [](surrogate_context* context, surrogate_domain** input,
                                  surrogate_domain**) { return grid_of(context, input, 12, 7.5); };
    const auto with_other_output = [](surrogate_context* context, surrogate_domain** input,
                                      surrogate_domain** output) {
        check(grid_of(context, input, 12, 0));
        return grid_of(context, output, 11, 0);
    };
    FamilyCase sphere{.name = "Sphere"};
    sphere.networks = networks();
    sphere.modes = {{"Fast", {}, 1e-5},
                    {"Reproducible", {{"reproducible", "true"}}, 0},
                    {"Double", {{"precision", "fp64"}, {"backend", "ref"}}, 1e-12}};
    sphere.partitions = {"contiguous", "scattered", "uneven", "first", "last"};
    sphere.share = sphere_share;
    sphere.has_output_domain = true;
    sphere.is_channels_first = true;
    // Interpolation weights and quadrature weights of attention are rounded to float in every
    // precision.
    for (const char* name :
         {"operators/attention_0", "operators/attention_1", "operators/attention_2",
          "operators/attention_3", "operators/disco_0", "operators/disco_5", "operators/resample_0",
          "transformer_neighborhood_24x48", "transformer_global_24x48"}) {
        std::string label = name;
        label = label.substr(label.find('/') + 1);
        sphere.goldens.push_back(
            {label, SURROGATE_TEST_DATA "/sphere/" + std::string(name) + ".safetensors", 1e-6});
    }
    sphere.refused_plans = {
        {"OnPoints", "Transformer", {}, points, SURROGATE_NOT_SUPPORTED, "scattered points"},
        {"OnAGridOfOtherSize", "Transformer", {}, of_other_size, SURROGATE_SHAPE, "11 x 24"},
        {"ToAGridOfOtherSize", "Transformer", {}, with_other_output, SURROGATE_SHAPE, "11 x 24"},
        {"AtHalfSteps", "Transformer", {}, at_half_steps, SURROGATE_INVALID_ARGUMENT, "7.5"},
    };
    return sphere;
}

const FamilyCase& sphere_case() {
    static const FamilyCase sphere = make_sphere();
    return sphere;
}

[[maybe_unused]] const bool is_listed = add_family(sphere_case);

}  // namespace
}  // namespace surrogate::test
