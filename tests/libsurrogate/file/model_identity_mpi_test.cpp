// SPDX-License-Identifier: Apache-2.0
// Hashes of models, and statistics of pooled inputs on a card: by the interface, and saved.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/darcy_case.hpp"
#include "tests/support/model_parts.hpp"
#include "tests/support/model_writer.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

const std::string weather_model = SURROGATE_SHARE "/models/shallow_water.safetensors";

class ModelIdentity : public testing::Test {
protected:
    ~ModelIdentity() override {
        MPI_Barrier(world);
        if (context.rank() == 0) std::remove(path.c_str());
    }
    Model saved(const Model& model) {
        model.save(path);
        return Model(context, path);
    }
    Model of(const ModelParts<float>& parts) {
        return Model(context, parts.card.dump(), parts.tensors());
    }

    const Context context = mpi_context(world);
    const std::string path = testing::TempDir() + "surrogate_identity_" +
                             std::to_string(context.size()) + ".safetensors";
};

TEST_F(ModelIdentity, HashIsThatOfAFileAndOfItsCopies) {
    for (const std::string& original :
         {std::string(darcy_model), weather_model,
          std::string(SURROGATE_TEST_DATA "/export/flare_options_bf16.safetensors")}) {
        const Model model(context, original);
        EXPECT_EQ(model.hash(), Model(context, original).hash());
        EXPECT_EQ(saved(model).hash(), model.hash()) << original;
        for (const uint64_t of_rank : gathered(std::vector<uint64_t>{model.hash()}, world))
            EXPECT_EQ(of_rank, model.hash());
        MPI_Barrier(world);
    }
    // The card with sorted keys, without the check case.
    EXPECT_EQ(of(ModelParts<float>(darcy_model)).hash(), Model(context, darcy_model).hash());
}

TEST_F(ModelIdentity, HashDoesNotCountChecksums) {
    const ModelParts<float> parts(darcy_model);
    ModelWriter file;
    file.card = parts.card;
    for (size_t i = 0; i < parts.names.size(); ++i)
        file.tensors.push_back(float_tensor(parts.names[i], parts.shapes[i], parts.values[i]));
    file.with_checksums = true;
    const std::string bytes = file.bytes();
    const Model summed(context, bytes.data(), std::ssize(bytes));
    EXPECT_EQ(summed.hash(), of(parts).hash());
    EXPECT_EQ(saved(summed).hash(), of(parts).hash());
}

TEST_F(ModelIdentity, HashDoesNotDependOnTheOrderOfTensors) {
    ModelParts<float> parts(darcy_model);
    const uint64_t hash = of(parts).hash();
    std::ranges::reverse(parts.names);
    std::ranges::reverse(parts.shapes);
    std::ranges::reverse(parts.values);
    EXPECT_EQ(of(parts).hash(), hash);
}

TEST_F(ModelIdentity, HashTellsWhatDiffers) {
    const ModelParts<float> parts(darcy_model);
    const uint64_t hash = of(parts).hash();
    ModelParts<float> other = parts;
    other.values.back().back() += 1e-3f;
    EXPECT_NE(of(other).hash(), hash) << "a weight";
    other = parts;
    const auto like = std::ranges::find_if(other.names, [](const std::string& name) {
        return name == "blocks.0.att.k_proj.fc1.weight";
    });
    const auto at = static_cast<size_t>(like - other.names.begin());
    const auto twin = static_cast<size_t>(
        std::ranges::find(other.names, "blocks.1.att.k_proj.fc1.weight") - other.names.begin());
    std::swap(other.values.at(at), other.values.at(twin));
    EXPECT_NE(of(other).hash(), hash) << "the same numbers under other names";
    for (const char* place : {"/inputs/2/mean", "/outputs/0/std"}) {
        other = parts;
        auto& number = other.card[nlohmann::json::json_pointer(place)];
        number = number.get<double>() * (1 + 1e-15);
        EXPECT_NE(of(other).hash(), hash) << place;
    }
}

// ---- pooled inputs ----

const nlohmann::json pooled = nlohmann::json::parse(R"({
    "mean": [0.25, 0.125], "covariance": [[2, -0.5], [-0.5, 1]],
    "quantile": 0.95, "distance": 2.5, "samples": 300})");

TEST_F(ModelIdentity, PooledInputsAreThoseOfTheCardAndAreSaved) {
    ModelParts<float> parts(darcy_model);
    parts.card["pooled"] = pooled;
    const Model original = of(parts), copy = saved(original);
    for (const Model* model : {&original, &copy}) {
        const surrogate_input_statistics info = model->input_statistics();
        ASSERT_EQ(info.n_feature, 2);
        EXPECT_EQ(std::vector(info.mean, info.mean + 2), (std::vector{0.25, 0.125}));
        EXPECT_EQ(std::vector(info.covariance, info.covariance + 4),
                  (std::vector{2.0, -0.5, -0.5, 1.0}));
        EXPECT_EQ(info.quantile, 0.95);
        EXPECT_EQ(info.distance, 2.5);
        EXPECT_EQ(info.n_samples, 300);
    }
}

TEST_F(ModelIdentity, PooledInputsMayBeUnknown) {
    ModelParts<float> parts(darcy_model);
    parts.card.erase("pooled");
    const surrogate_input_statistics info = of(parts).input_statistics();
    EXPECT_EQ(info.n_feature, 0);
    EXPECT_EQ(info.mean, nullptr);
    EXPECT_EQ(info.covariance, nullptr);
    EXPECT_EQ(info.n_samples, 0);
}

TEST_F(ModelIdentity, NullIsRefused) {
    const Model model(context, darcy_model);
    EXPECT_EQ(surrogate_model_hash(model.get(), nullptr), SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(surrogate_model_input_statistics(model.get(), nullptr), SURROGATE_INVALID_ARGUMENT);
    uint64_t hash = 0;
    surrogate_input_statistics info;
    EXPECT_EQ(surrogate_model_hash(nullptr, &hash), SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(surrogate_model_input_statistics(nullptr, &info), SURROGATE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace surrogate::test
