// SPDX-License-Identifier: Apache-2.0
// Properties of layers and models of the sphere with any weights.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

std::vector<float> weights(const ModelWriter& model, const std::string& name) {
    for (const WriterTensor& tensor : model.tensors) {
        if (tensor.name != name) continue;
        std::vector<float> values(tensor.bytes.size() / sizeof(float));
        std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
        return values;
    }
    return {};
}

/// (n_out, n_in) times x, plus bias.
std::vector<double> linear(const std::vector<float>& weight, const std::vector<double>& x,
                           const std::vector<float>& bias) {
    const size_t n_out = weight.size() / x.size();
    std::vector<double> y(n_out);
    for (size_t o = 0; o < n_out; ++o) {
        y[o] = bias.empty() ? 0 : static_cast<double>(bias[o]);
        for (size_t c = 0; c < x.size(); ++c)
            y[o] += static_cast<double>(weight[o * x.size() + c]) * x[c];
    }
    return y;
}

std::vector<double> channel_values(size_t n_channel) {
    std::vector<double> values;
    for (size_t c = 0; c < n_channel; ++c)
        values.push_back(0.75 - 0.375 * static_cast<double>(c));  // exact in single precision
    return values;
}

std::vector<float> constants(const std::vector<double>& values, int64_t n_point) {
    std::vector<float> fields;
    for (const double value : values)
        fields.insert(fields.end(), static_cast<size_t>(n_point), static_cast<float>(value));
    return fields;
}

void expect_constants(const std::vector<double>& y, const std::vector<double>& expected,
                      double tolerance, const std::string& name) {
    const size_t n_point = y.size() / expected.size();
    for (size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(y[i], expected[i / n_point], tolerance) << name << ", element " << i;
}

const Options backends[] = {{{"backend", "simd"}, {"threads", "1"}},
                            {{"backend", "ref"}, {"threads", "1"}}};

// ---- constants ----

TEST(SphereConstants, PassThroughResampling) {
    for (const json& change :
         {json::object(), json{{"out_shape", {5, 7}}, {"grid_out", "lobatto"}},
          json{{"grid_in", "equiangular"}}, json{{"mode", "bilinear-spherical"}}}) {
        const ModelOnDisk file(changed(small_resampling(), change));
        // Weights sin((1-t)w)/sin(w) and sin(tw)/sin(w) of the spherical mode sum to one at t = 0
        // or 1 only.
        const double tolerance = change.contains("mode") ? 0.03 : 1e-6;
        for (const Options& options : backends)
            expect_constants(evaluate(file.path(), {constants({0.7}, 8 * 16)}, options),
                             {static_cast<double>(0.7f)}, tolerance, change.dump());
    }
}

TEST(SphereConstants, GiveTheProjectedValueInAttention) {
    struct Grids {
        std::vector<int64_t> in, out;
        bool is_global;
    };
    for (const Grids& g : {Grids{{12, 24}, {12, 24}, false}, Grids{{12, 24}, {6, 12}, false},
                           Grids{{6, 12}, {12, 24}, false}, Grids{{9, 21}, {9, 21}, false},
                           Grids{{8, 16}, {8, 16}, true}, Grids{{9, 12}, {5, 6}, true}}) {
        const json network =
            changed(small_attention(g.is_global), {{"in_shape", g.in}, {"out_shape", g.out}});
        const ModelWriter model = sphere_model(sphere_card(network));
        const ModelOnDisk file(model.bytes());
        const std::vector<double> x = channel_values(4);
        const std::vector<double> value =
            linear(weights(model, "v_weights"), x, weights(model, "v_bias"));
        const std::vector<double> expected =
            linear(weights(model, "proj_weights"), value, weights(model, "proj_bias"));
        const std::vector<float> in = constants(x, g.in[0] * g.in[1]);
        // Weights sum to one whatever the queries are.
        std::vector<std::vector<float>> inputs = {in};
        if (g.in != g.out) inputs = {wave(4 * g.out[0] * g.out[1], 2, 3), in, in};
        for (const Options& options : backends)
            expect_constants(evaluate(file.path(), inputs, options), expected, 2e-6,
                             network.dump());
    }
}

TEST(SphereConstants, GiveTheSumOfTheFilterInNodalConvolutions) {
    const json changes[] = {
        json::object(),
        {{"out_shape", {6, 12}}, {"grid_out", "legendre-gauss"}},
        {{"in_channels", 4}, {"groups", 4}, {"bias", false}},
        {{"in_channels", 24}, {"out_channels", 1}},  // weights first
        {{"kernel_shape", {3}}},
        {{"kernel_shape", {1}}, {"basis_type", "zernike"}},
        // Rings only: no input point sees a point beside the pole in the south.
        {{"layer", "DiscreteContinuousConvTransposeS2"}, {"kernel_shape", {3}}},
    };
    for (const json& change : changes) {
        const json network = changed(small_convolution(), change);
        const ModelWriter model = sphere_model(sphere_card(network));
        const ModelOnDisk file(model.bytes());
        const auto n_in = network["in_channels"].get<size_t>();
        const auto n_out = network["out_channels"].get<size_t>();
        const size_t groups = network.value("groups", 1), width = n_in / groups;
        const std::vector<float> weight = weights(model, "weight"), bias = weights(model, "bias");
        const size_t n_basis = weight.size() / n_out / width;
        const std::vector<double> x = channel_values(n_in);
        std::vector<double> expected(n_out);
        for (size_t o = 0; o < n_out; ++o) {
            const size_t first = o / (n_out / groups) * width;
            expected[o] = bias.empty() ? 0 : static_cast<double>(bias[o]);
            for (size_t c = 0; c < width; ++c)
                for (size_t k = 0; k < n_basis; ++k)
                    expected[o] +=
                        static_cast<double>(weight[(o * width + c) * n_basis + k]) * x[first + c];
        }
        const int64_t n_point = network["in_shape"][0].get<int64_t>() * 24;
        for (const Options& options : backends)
            expect_constants(evaluate(file.path(), {constants(x, n_point)}, options), expected,
                             2e-6 * static_cast<double>(n_in), network.dump());
    }
}

// ---- shifts ----

/// Channels of n_lon columns, every row turned east by `step` columns.
template <class T>
std::vector<T> turned(const std::vector<T>& fields, int64_t n_lon, int64_t step) {
    std::vector<T> result(fields.size());
    const auto n = static_cast<size_t>(n_lon), s = static_cast<size_t>(step);
    for (size_t i = 0; i < fields.size(); ++i) result[i / n * n + (i + s) % n] = fields[i];
    return result;
}

/// Expects that turning all inputs by `step` coarse columns turns the output as much: bitwise
/// identical, or within tolerance.
void expect_to_turn(const json& network, int64_t n_coarse, int64_t step, double tolerance) {
    const ModelOnDisk file(network);
    const Context self;
    const Model model(self, file.path());
    const int64_t in = model.input_domain().n_lon, out = model.output_domain().n_lon;
    std::vector<std::vector<float>> inputs = wave_inputs(model), shifted;
    std::vector<int64_t> columns;
    for (const surrogate_port_info& port : model.ports())
        if (!port.is_output) columns.push_back(port.location == SURROGATE_ON_OUTPUT ? out : in);
    for (size_t i = 0; i < inputs.size(); ++i)
        shifted.push_back(turned(inputs[i], columns[i], step * columns[i] / n_coarse));
    for (const Options& options : backends) {
        const std::vector<double> expected =
            turned(evaluate(file.path(), inputs, options), out, step * out / n_coarse);
        const std::vector<double> y = evaluate(file.path(), shifted, options);
        if (tolerance == 0) {
            EXPECT_EQ(y, expected) << network.dump();
        } else {
            EXPECT_LE(largest_difference(y, expected, largest(expected)), tolerance)
                << network.dump();
        }
    }
}

TEST(SphereTurn, OfInputsTurnsNeighborhoodAttentionToTheBit) {
    expect_to_turn(small_attention(), 24, 1, 0);
    expect_to_turn(small_attention(), 24, 11, 0);
    expect_to_turn(changed(small_attention(), {{"out_shape", {6, 12}}}), 12, 1, 0);
    expect_to_turn(changed(small_attention(), {{"out_shape", {6, 8}}}), 8, 3, 0);
    expect_to_turn(changed(small_attention(), {{"in_shape", {6, 12}}}), 12, 1, 0);
    expect_to_turn(changed(small_attention(), {{"in_shape", {9, 21}}, {"out_shape", {9, 21}}}), 21,
                   1, 0);
}

TEST(SphereTurn, OfInputsTurnsConvolutionsToTheBit) {
    expect_to_turn(small_convolution(), 24, 1, 0);
    expect_to_turn(changed(small_convolution(), {{"out_shape", {6, 12}}}), 12, 1, 0);
    expect_to_turn(changed(small_convolution(), {{"in_channels", 24}, {"out_channels", 1}}), 24, 5,
                   0);
    expect_to_turn(changed(small_convolution(),
                           {{"layer", "DiscreteContinuousConvTransposeS2"}, {"in_shape", {6, 12}}}),
                   12, 1, 0);
    expect_to_turn(changed(small_convolution(), {{"in_shape", {9, 21}}, {"out_shape", {9, 7}}}), 7,
                   2, 0);
}

TEST(SphereTurn, OfInputsTurnsModelsWithoutLongitudes) {
    for (const char* mode : {"neighborhood", "global"}) {
        const json base = changed(small_transformer(), {{"attention_mode", mode}});
        for (const char* embedding : {"none", "learnable lat"})
            expect_to_turn(changed(base, {{"pos_embed", embedding}}), 12, 1, 1e-5);
        expect_to_turn(changed(base, {{"pos_embed", "none"}, {"upsample_sht", true}}), 12, 5, 1e-5);
    }
    expect_to_turn(small_segformer(), 12, 1, 1e-5);
    expect_to_turn(changed(small_segformer(), {{"upsampling_method", "conv"}}), 12, 5, 1e-5);
}

// ---- extreme scores ----

/// An attention layer on 8 x 16 points whose scores are products of the input's channels: queries
/// and keys are the input, values and outputs too.
ModelWriter plain_attention(bool is_global) {
    ModelWriter model =
        sphere_model(sphere_card(changed(small_attention(is_global), {{"in_shape", {8, 16}},
                                                                      {"out_shape", {8, 16}},
                                                                      {"num_heads", 1},
                                                                      {"bias", false},
                                                                      {"scale", 1.0}})));
    std::vector<float> identity(16);
    for (size_t c = 0; c < 4; ++c) identity[5 * c] = 1;
    for (WriterTensor& tensor : model.tensors)
        tensor = float_tensor(tensor.name, tensor.shape, identity);
    return model;
}

class SphereScores : public testing::TestWithParam<bool> {};

TEST_P(SphereScores, OfTwoHundredAreAveragedAsInDouble) {
    const ModelOnDisk file(plain_attention(GetParam()).bytes());
    // Channels 0 and 1 make scores of -200 to 200, channels 2 and 3 are values of order one whose
    // part of the score is small.
    std::vector<float> x = wave(4 * 128, 0.6);
    for (size_t i = 0; i < 128; ++i) {
        x[i] = static_cast<float>(14.14 * std::cos(0.7 * static_cast<double>(i)));
        x[128 + i] = static_cast<float>(14.14 * std::sin(0.7 * static_cast<double>(i)));
    }
    const std::vector<double> exact =
        evaluate(file.path(), {x}, {{"backend", "ref"}, {"precision", "fp64"}});
    for (const char* backend : {"simd", "ref"}) {
        std::vector<double> y;
        {
            const TrapGuard guard;
            y = evaluate(file.path(), {x}, {{"backend", backend}, {"threads", "1"}});
        }
        // A score of 200 is known to 1e-5, and so is the ratio of two weights.
        EXPECT_LE(largest_difference(y, exact, largest(exact)), 4e-5) << backend;
    }
}

TEST_P(SphereScores, OfAllPointsFarBelowZeroStillAverage) {
    // All scores are -200 or less: without their maximum every weight would be zero.
    ModelWriter model = plain_attention(GetParam());
    std::vector<float> negative(16);
    for (size_t c = 0; c < 4; ++c) negative[5 * c] = -1;
    model.tensors[1] = float_tensor("k_weights", {4, 4, 1, 1}, negative);
    const ModelOnDisk file(model.bytes());
    const std::vector<double> value = {14.25, 0.5, -1, 2};
    const std::vector<float> x = constants(value, 128);
    for (const char* backend : {"simd", "ref"}) {
        const TrapGuard guard;
        expect_constants(evaluate(file.path(), {x}, {{"backend", backend}, {"threads", "1"}}),
                         value, 2e-5, backend);
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, SphereScores, testing::Bool(), [](const auto& mode) {
    return std::string(mode.param ? "Global" : "Neighborhood");
});

}  // namespace
}  // namespace surrogate::test
