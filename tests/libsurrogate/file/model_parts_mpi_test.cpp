// SPDX-License-Identifier: Apache-2.0
// Models without a file, from memory and from a card with its weights; and models that are saved.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/darcy_case.hpp"
#include "tests/support/model_parts.hpp"
#include "tests/support/model_writer.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

namespace fs = std::filesystem;

const std::string sphere_model = SURROGATE_SHARE "/models/shallow_water.safetensors";

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class Models : public testing::Test {
protected:
    bool is_root() const { return context.rank() == 0; }

    std::vector<double> predicted_by(const Model& model, const Options& options = {}) {
        return predict(model, context, DarcyCase(own_rows("contiguous", 40, world)), options);
    }
    void expect_as_the_file(const Model& model) {
        const Model file(context, darcy_model);
        EXPECT_EQ(predicted_by(model), predicted_by(file));
        EXPECT_EQ(predicted_by(model, {{"precision", "fp64"}}),
                  predicted_by(file, {{"precision", "fp64"}}));
    }
    /// Expects the same error on all ranks.
    void expect_refused(surrogate_status status, const std::string& part, surrogate_status call) {
        const Answer found = answer(call);
        EXPECT_EQ(found.status, status) << found;
        EXPECT_TRUE(found.says(part)) << found;
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_TRUE(ranks_still_talk(world));
    }

    const Context context = mpi_context(world);
};

class ModelFromMemory : public Models {
protected:
    surrogate_status load(const void* given, int64_t n) {
        surrogate_model* model = nullptr;
        const surrogate_status status =
            surrogate_model_load_memory(context.get(), given, n, &model);
        EXPECT_EQ(model == nullptr, status != SURROGATE_SUCCESS);
        surrogate_model_destroy(&model);
        return status;
    }
    std::string bytes = content_of(darcy_model);
};

TEST_F(ModelFromMemory, PredictsAsItsFile) {
    const Model model(context, is_root() ? bytes.data() : nullptr,
                      is_root() ? std::ssize(bytes) : 0);
    bytes.assign(bytes.size(), 'x');
    EXPECT_EQ(model.describe(), Model(context, darcy_model).describe());
    expect_as_the_file(model);
}

TEST_F(ModelFromMemory, IsRefusedAsAFileWouldBe) {
    const int64_t n = std::ssize(bytes);
    expect_refused(SURROGATE_BAD_FILE, "model file in memory: ", load(bytes.data(), n - 1));
    expect_refused(SURROGATE_BAD_FILE, "model file in memory: ", load(bytes.data(), 0));
    expect_refused(SURROGATE_SHAPE, "n_bytes is -1", load(bytes.data(), is_root() ? -1 : n));
    expect_refused(SURROGATE_INVALID_ARGUMENT, "'bytes' is NULL",
                   load(is_root() ? nullptr : bytes.data(), n));
    EXPECT_EQ(load(bytes.data(), n), SURROGATE_SUCCESS);
}

class ModelFromTensors : public Models {
protected:
    surrogate_status create(const std::string& text, std::vector<surrogate_tensor> tensors) {
        surrogate_model* model = nullptr;
        const auto n = static_cast<int32_t>(tensors.size());
        const surrogate_status status =
            is_root()
                ? surrogate_model_create(context.get(), text.c_str(), n, tensors.data(), &model)
                : surrogate_model_create(context.get(), nullptr, 0, nullptr, &model);
        EXPECT_EQ(model == nullptr, status != SURROGATE_SUCCESS);
        surrogate_model_destroy(&model);
        return status;
    }
    /// As `change` leaves the first tensor.
    template <class Change>
    surrogate_status create_with(const Change& change) {
        std::vector<surrogate_tensor> tensors = parts.tensors();
        change(tensors.front());
        return create(card, tensors);
    }
    ModelParts<float> parts{darcy_model};
    const std::string card = parts.card.dump();
    const std::string first = "tensor '" + parts.names.front() + "'";
};

TEST_F(ModelFromTensors, PredictsAsItsFile) {
    expect_as_the_file(Model(context, card, parts.tensors()));
    const ModelParts<double> in_double(darcy_model);
    expect_as_the_file(Model(context, card, in_double.tensors()));
}

TEST_F(ModelFromTensors, NeedsAllWeightsAndNoOthers) {
    std::vector<surrogate_tensor> tensors = parts.tensors();
    tensors.erase(tensors.begin());
    expect_refused(SURROGATE_BAD_FILE, "model from tensors: " + first, create(card, tensors));
    expect_refused(SURROGATE_BAD_FILE, "the file holds 0", create(card, {}));
    tensors = parts.tensors();
    tensors.push_back(tensors.front());
    expect_refused(SURROGATE_BAD_FILE, "'" + parts.names.front() + "'", create(card, tensors));
    tensors.back().name = "more";
    expect_refused(SURROGATE_BAD_FILE, "'more' does not belong", create(card, tensors));
}

TEST_F(ModelFromTensors, NeedsACardOfItsNetwork) {
    expect_refused(SURROGATE_BAD_FILE, "card", create("no card", parts.tensors()));
    expect_refused(SURROGATE_BAD_FILE, "family", create("{\"format\":1}", parts.tensors()));
    expect_refused(SURROGATE_BAD_FILE, "UTF-8", create("\xff", parts.tensors()));
    parts.card["family"] = "flair";
    expect_refused(SURROGATE_NOT_SUPPORTED, "'flair'", create(parts.card.dump(), parts.tensors()));
}

TEST_F(ModelFromTensors, RefusesTensorsThatCannotBe) {
    const auto refused = [&](surrogate_status status, const std::string& part, auto change) {
        expect_refused(status, part, create_with(change));
    };
    refused(SURROGATE_INVALID_ARGUMENT, "name of tensor 0 is NULL",
            [](surrogate_tensor& t) { t.name = nullptr; });
    refused(SURROGATE_INVALID_ARGUMENT, first + ": data is NULL",
            [](surrogate_tensor& t) { t.data = nullptr; });
    refused(SURROGATE_INVALID_ARGUMENT, first + ": dtype 9",
            [](surrogate_tensor& t) { t.dtype = 9; });
    refused(SURROGATE_BAD_FILE, first + " is stored as I32",
            [](surrogate_tensor& t) { t.dtype = SURROGATE_INT32; });
    refused(SURROGATE_SHAPE, first + ": n_dim", [](surrogate_tensor& t) { t.n_dim = 9; });
    refused(SURROGATE_SHAPE, first + ": n_dim", [](surrogate_tensor& t) { t.n_dim = -1; });
    refused(SURROGATE_SHAPE, "is negative", [](surrogate_tensor& t) { t.shape[0] = -1; });
    refused(SURROGATE_BAD_FILE, first + " has shape", [](surrogate_tensor& t) { --t.shape[0]; });
    refused(SURROGATE_BAD_FILE, first, [](surrogate_tensor& t) { t.shape[0] = INT64_MAX; });
    refused(SURROGATE_BAD_FILE, "header", [](surrogate_tensor& t) { t.name = "\xc3("; });
    parts.values.front().back() = std::numeric_limits<float>::infinity();
    expect_refused(SURROGATE_BAD_FILE, first, create(card, parts.tensors()));
    surrogate_model* model = nullptr;
    expect_refused(SURROGATE_SHAPE, "n_tensors is -1",
                   surrogate_model_create(context.get(), "{}", -1, nullptr, &model));
    expect_refused(SURROGATE_INVALID_ARGUMENT, "'tensors' is NULL",
                   surrogate_model_create(context.get(), "{}", 1, nullptr, &model));
}

// Axes 0 and 7 of eight; the others are not read.
TEST_F(ModelFromTensors, ReadsAnyOfEightCoordinates) {
    for (auto& input : parts.card["inputs"])
        if (input.value("axis", -1) == 1) input["axis"] = 7;
    const Model model(context, parts.card.dump(), parts.tensors());
    DarcyCase darcy(own_rows("scattered", 40, world));
    std::vector<double> x(8 * darcy.ids.size(), 3.5);  // (n, 8)
    for (size_t i = 0; i < darcy.ids.size(); ++i) {
        x[8 * i] = darcy.x[2 * i];
        x[8 * i + 7] = darcy.x[2 * i + 1];
    }
    const Domain domain(context, matrix(x.data(), darcy.n(), 8));
    for (const char* mode : {"false", "true"}) {
        const Options options{{"reproducible", mode}};
        const std::vector<double> expected =
            predict(Model(context, darcy_model), context, darcy, options);
        Plan plan(model, domain, options);
        darcy.bind(plan);
        plan.run();
        EXPECT_LE(relative_difference(darcy.pressure, expected), order_tolerance) << mode;
        EXPECT_NE(plan.describe().find("coordinate 6 of the domain"), std::string::npos)
            << plan.describe();
    }
}

class SavedModel : public Models {
protected:
    SavedModel() {
        if (is_root()) fs::create_directories(folder);
        MPI_Barrier(world);
    }
    ~SavedModel() override {
        MPI_Barrier(world);
        std::error_code ignored;
        if (is_root()) fs::remove_all(folder, ignored);
    }
    /// A barrier before, because rank 0 alone looks at files between two calls.
    surrogate_status save(const Model& model, const std::string& to) {
        MPI_Barrier(world);
        return surrogate_model_save(model.get(), to.c_str());
    }
    const std::string folder =
        testing::TempDir() + "surrogate_saved_" + std::to_string(context.size());
    const std::string path = folder + "/model.safetensors";
    const Model darcy{context, darcy_model};
};

TEST_F(SavedModel, PredictsTheSameBits) {
    darcy.save(path);
    const Model saved(context, path);
    expect_as_the_file(saved);
    const auto about = nlohmann::json::parse(saved.describe());
    EXPECT_EQ(about.at("check_truth"), "none");
    EXPECT_EQ(about.at("parameters"), nlohmann::json::parse(darcy.describe()).at("parameters"));
    // Saved again it is the same file.
    saved.save(path + "2");
    EXPECT_EQ(content_of(path), content_of(path + "2"));
}

TEST_F(SavedModel, KeepsCardAndWeightsOfAnyFamily) {
    for (const std::string& original :
         {sphere_model, std::string(SURROGATE_TEST_DATA "/export/flare_options_bf16.safetensors"),
          std::string(SURROGATE_TEST_DATA "/export/sphere_transformer_f16.safetensors")}) {
        const Model model(context, original);
        model.save(path);
        auto expected = nlohmann::json::parse(model.describe()).at("card"),
             found = nlohmann::json::parse(Model(context, path).describe()).at("card");
        EXPECT_EQ(found.contains("checksums"), expected.contains("checksums")) << original;
        expected.erase("checksums");
        found.erase("checksums");
        EXPECT_EQ(found, expected) << original;
        MPI_Barrier(world);
    }
}

TEST_F(SavedModel, HasNewChecksumsIfItsCardHasSome) {
    ModelParts<float> parts(darcy_model);
    Model(context, parts.card.dump(), parts.tensors()).save(path);
    const bool has_none = content_of(path).find("card_checksum") == std::string::npos;
    EXPECT_TRUE(has_none);
    MPI_Barrier(world);
    ModelWriter summed;
    summed.with_checksums = true;
    summed.card = parts.card;
    for (size_t i = 0; i < parts.names.size(); ++i)
        summed.tensors.push_back(float_tensor(parts.names[i], parts.shapes[i], parts.values[i]));
    summed.tensors.push_back(float_tensor("check/input/x", {1}, parts.values[0]));
    summed.tensors.back().bytes.resize(4);
    std::string bytes = summed.bytes();
    Model(context, bytes.data(), std::ssize(bytes)).save(path);
    expect_as_the_file(Model(context, path));
    bytes = content_of(path);
    ASSERT_NE(bytes.find("surrogate.card_checksum"), std::string::npos);
    bytes.back() ^= 1;
    surrogate_model* model = nullptr;
    expect_refused(
        SURROGATE_BAD_FILE, "expected checksum",
        surrogate_model_load_memory(context.get(), bytes.data(), std::ssize(bytes), &model));
}

TEST_F(SavedModel, ReplacesAFileThroughALinkAndKeepsItsPermissions) {
    const std::string link = folder + "/link";
    if (is_root()) {
        std::ofstream(path) << "earlier";
        chmod(path.c_str(), 0640);
        fs::create_symlink("model.safetensors", link);
    }
    EXPECT_EQ(save(darcy, link), SURROGATE_SUCCESS);
    if (!is_root()) return;
    EXPECT_TRUE(fs::is_symlink(link));
    struct stat found {};
    EXPECT_EQ(stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, 0640u);
    EXPECT_GT(found.st_size, 1000);
    EXPECT_FALSE(fs::exists(path + ".surrogate.tmp"));
}

TEST_F(SavedModel, LeavesWhatWasThereIfItCannotBeWritten) {
    if (is_root()) {
        std::ofstream(path) << "earlier";
        fs::create_directories(path + ".surrogate.tmp/in the way");
        fs::create_directories(folder + "/directory");
    }
    expect_refused(SURROGATE_IO, "cannot write '" + path + "'", save(darcy, path));
    expect_refused(SURROGATE_IO, "is a directory", save(darcy, folder + "/directory"));
    expect_refused(SURROGATE_IO, "No such file", save(darcy, folder + "/none/model"));
    expect_refused(SURROGATE_IO, "a device", save(darcy, "/dev/null"));
    if (is_root()) {
        EXPECT_EQ(content_of(path), "earlier");
    }
}

TEST_F(SavedModel, NeedsAPathOnEveryRank) {
    for (int culprit = 0; culprit < context.size(); ++culprit) {
        const bool is_culprit = context.rank() == culprit;
        expect_refused(SURROGATE_INVALID_ARGUMENT, "path of the model file is NULL",
                       surrogate_model_save(darcy.get(), is_culprit ? nullptr : path.c_str()));
    }
    if (is_root()) {
        EXPECT_FALSE(fs::exists(path));
    }
}

TEST_F(SavedModel, MayHaveNoWeights) {
    const Model layer(context, SURROGATE_TEST_DATA "/sphere/operators/resample_0.safetensors");
    EXPECT_EQ(save(layer, path), SURROGATE_SUCCESS);
    EXPECT_EQ(Model(context, path).hash(), layer.hash());
}

}  // namespace
}  // namespace surrogate::test
