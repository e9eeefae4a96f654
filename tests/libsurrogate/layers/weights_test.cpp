// SPDX-License-Identifier: Apache-2.0
// The weights of a model: their arena, and that plans follow them after refresh().
#include "libsurrogate/src/layers/weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using impl::MasterWeights;

impl::Tensor tensor(const std::string& name, const std::vector<float>& values) {
    impl::Tensor tensor{{name, impl::DType::float32, {std::ssize(values)}, 0, 0},
                        kernels::Buffer<std::byte>(4 * std::ssize(values))};
    std::memcpy(tensor.data.data(), values.data(), 4 * values.size());
    return tensor;
}

std::shared_ptr<MasterWeights> two_tensors() {
    std::vector<impl::Tensor> tensors;
    tensors.push_back(tensor("b", {1, 2, 3}));
    tensors.push_back(tensor("a", {4, 5}));
    return std::make_shared<MasterWeights>(tensors);
}

TEST(Weights, LieInOneArenaInTheirOrder) {
    const auto master = two_tensors();
    EXPECT_EQ(master->n_parameter(), 5);
    ASSERT_EQ(master->entries().size(), 2u);
    EXPECT_EQ(master->entries()[0].name, "b");
    EXPECT_EQ(master->entries()[1].first, 16);
    EXPECT_EQ(master->values()[17], 5);
    EXPECT_EQ(master->find("c"), nullptr);
    const impl::Weights<float> floats(master);
    EXPECT_EQ(floats.at("a"), master->values().data() + 16);
    EXPECT_THROW(floats.at("c"), impl::Error);
}

TEST(Weights, GradientsHaveTheShapeOfTheArenaAndBeginAsZeros) {
    const auto master = two_tensors();
    const std::span<double> gradients = master->gradients();
    ASSERT_EQ(gradients.size(), master->values().size());
    EXPECT_TRUE(std::ranges::all_of(gradients, [](double g) { return g == 0; }));
    gradients[3] = 1;
    EXPECT_EQ(master->gradients()[3], 1) << "the second call gives the same arena";
}

TEST(Weights, RefreshRepeatsWhatLivesInTheOrderOfItsMaking) {
    const auto master = two_tensors();
    const impl::Weights<double> doubles(master);
    const double* const b = doubles.at("b");
    const impl::Derived<double> twice = doubles.derive(
        3, [b](double* to) { std::transform(b, b + 3, to, [](double v) { return 2 * v; }); });
    int n_dropped = 0;
    {
        const impl::Refresh dropped = master->on_refresh([&] { ++n_dropped; });
    }
    EXPECT_EQ(twice.data()[2], 6);
    master->values()[2] = 10;
    EXPECT_EQ(b[2], 3) << "copies wait for refresh()";
    master->refresh();
    EXPECT_EQ(b[2], 10);
    EXPECT_EQ(twice.data()[2], 20) << "computed after the conversion that it reads";
    EXPECT_EQ(n_dropped, 0);
}

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

float altered(float value, int64_t i) {
    return value * (1 + 0.02f * static_cast<float>(std::sin(0.7 * static_cast<double>(i + 1))));
}

/// The file with every weight altered; it has no checksums.
std::string altered_file(std::string bytes) {
    uint64_t n_header = 0;
    std::memcpy(&n_header, bytes.data(), 8);
    const auto header = nlohmann::json::parse(bytes.substr(8, n_header));
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__" || name.starts_with("check/")) continue;
        const size_t begin = 8 + n_header + entry["data_offsets"][0].get<size_t>();
        const size_t end = 8 + n_header + entry["data_offsets"][1].get<size_t>();
        for (size_t at = begin; at < end; at += 4) {
            float value = 0;
            std::memcpy(&value, &bytes[at], 4);
            value = altered(value, static_cast<int64_t>((at - begin) / 4));
            std::memcpy(&bytes[at], &value, 4);
        }
    }
    return bytes;
}

/// A file of tests/data, or a SegFormer whose upsampling convolutions are folded with its head.
std::string model_bytes(const std::string& name) {
    if (name != "folded segformer")
        return bytes_of(std::string(SURROGATE_TEST_DATA "/") + name + ".safetensors");
    return sphere_model(sphere_card(changed(small_segformer(), {{"upsampling_method", "conv"}})))
        .bytes();
}

Domain domain_of(const Context& self, const Model& model, int64_t* n_point) {
    const surrogate_domain_info info = model.input_domain();
    if (info.kind == SURROGATE_SPHERE) {
        *n_point = info.n_lat * info.n_lon;
        return Domain(self, SphereBlock(info, {"whole"}, 0, 1).sphere());
    }
    *n_point = 57;
    const std::vector<float> x = wave(2 * *n_point, 0.3);
    return Domain(self, matrix(x.data(), *n_point, 2));
}

/// A plan of a bare network, and what it predicts from a wave.
struct Prediction {
    Prediction(const Context& self, const Model& model, const Options& options)
        : domain(domain_of(self, model, &n_point)),
          plan(model, domain, options),
          ports(model.ports()) {}

    std::vector<double> run() {
        std::vector<surrogate_named_array> given;
        const std::vector<float> x = wave(n_point * ports[0].n_channel, 0.6);
        std::vector<double> y(static_cast<size_t>(n_point * ports[1].n_channel));
        plan.run_network({{ports[0].name, matrix(x.data(), n_point, ports[0].n_channel)}},
                         {{ports[1].name, matrix(y.data(), n_point, ports[1].n_channel)}});
        return y;
    }

    int64_t n_point = 0;
    Domain domain;
    Plan plan;
    std::vector<surrogate_port_info> ports;
};

class RefreshedModel : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(RefreshedModel, PredictsLikeOneLoadedWithTheNewWeights) {
    const auto [file, precision] = GetParam();
    const ModelOnDisk original(model_bytes(file));
    Options options;
    options.set("precision", precision);
    options.set("reproducible", "true");
    const Context self;
    const Model model(self, original.path());
    Prediction prediction(self, model, options);
    const std::vector<double> before = prediction.run();

    const std::shared_ptr<MasterWeights>& weights = model.get()->model->weights();
    for (const MasterWeights::Entry& entry : weights->entries()) {
        for (int64_t i = 0; i < entry.size; ++i) {
            float& value = weights->values()[static_cast<size_t>(entry.first + i)];
            value = altered(value, i);
        }
    }
    weights->refresh();
    const std::vector<double> after = prediction.run();

    const ModelOnDisk changed(altered_file(model_bytes(file)));
    const Model loaded(self, changed.path());
    EXPECT_EQ(after, Prediction(self, loaded, options).run());
    EXPECT_NE(after, before);
}

INSTANTIATE_TEST_SUITE_P(
    , RefreshedModel,
    testing::Combine(testing::Values("flare/tiny_options",  // q/k norm
                                     "flare/odd",
                                     "sphere/transformer_heads_bias_33x64",    // stored embedding
                                     "sphere/transformer_neighborhood_24x48",  // filters reordered
                                     "sphere/segformer_global_48x96",          // head columns
                                     "folded segformer"),
                     testing::Values("fp32", "fp64")),
    [](const auto& tested) {
        std::string name = std::string(std::get<0>(tested.param)) + "_" + std::get<1>(tested.param);
        std::ranges::replace_if(
            name, [](char c) { return c == '/' || c == ' '; }, '_');
        return name;
    });

}  // namespace
}  // namespace surrogate::test
