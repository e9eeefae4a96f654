// SPDX-License-Identifier: Apache-2.0
// Models of family torch that are rejected before any code is opened, with or without the plug-in.
#include <gtest/gtest.h>

#include "tests/libsurrogate/exported/exported_case.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

class ExportedErrors : public testing::Test {
protected:
    void expect(const Answer& found, surrogate_status status, const std::string& part) const {
        EXPECT_EQ(found.status, status) << found;
        EXPECT_TRUE(found.says(part)) << found;
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_TRUE(ranks_still_talk(world));
    }
    Answer load(const std::string& path) const {
        surrogate_model* model = nullptr;
        const Answer found = answer(surrogate_model_load(context.get(), path.c_str(), &model));
        EXPECT_EQ(model == nullptr, found.status != SURROGATE_SUCCESS);
        surrogate_model_destroy(&model);
        return found;
    }
    void expect_bad_card(const json& changes, const std::string& part) const {
        const ExportedCase files("sum", changes);
        expect(load(files.path()), SURROGATE_BAD_FILE, part);
    }
    Answer plan(const Model& model, const Options& options) const {
        std::vector<double> x(4, 0.5);
        const Domain domain(context,
                            surrogate_points{matrix(x.data(), 4, 1), nullptr, nullptr, nullptr});
        surrogate_plan* made = nullptr;
        const Answer found =
            answer(surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &made));
        surrogate_plan_destroy(&made);
        return found;
    }
    const Context context = mpi_context(world);
};

TEST_F(ExportedErrors, PackageMustBeAFileNameWithoutFolders) {
    for (const char* name : {"../net.pt2", "/tmp/net.pt2", "a/net.pt2", "..", ".", "", "a\\b.pt2"})
        expect_bad_card({{"package", name}}, "without folders");
}

TEST_F(ExportedErrors, CardNamesWrongKeys) {
    expect_bad_card({{"package", nullptr}}, "network.package is missing");
    expect_bad_card({{"package_checksum", nullptr}}, "network.package_checksum is missing");
    expect_bad_card({{"package_checksum", "12"}}, "network.package_checksum");
    expect_bad_card({{"per", nullptr}}, "network.per is missing, expected point or cloud");
    expect_bad_card({{"per", "points"}}, "(known: point, cloud); did you mean 'point'");
    expect_bad_card({{"in_dim", 0}}, "network.in_dim is 0, expected a whole number from 1");
    expect_bad_card({{"in_dim", 3}}, "2 inputs, but the network has 3 channels");
    expect_bad_card({{"dtype", "bfloat16"}}, "known: float32, float64");
    expect_bad_card({{"min_points", 5}, {"max_points", 4}},
                    "min_points is 5, expected at most max_points = 4");
    expect_bad_card({{"pakage", "x"}}, "network.pakage is not a parameter of an exported PyTorch");
}

TEST_F(ExportedErrors, AnotherPackageIsFoundByItsChecksum) {
    const ExportedCase files("sum");
    if (rank_of(world) == 0) write_bytes(files.folder() / "net.pt2", "sun");
    MPI_Barrier(world);
    expect(load(files.path()), SURROGATE_BAD_FILE,
           checksum_text("sun") + ", expected " + checksum_text("sum"));
}

TEST_F(ExportedErrors, MissingPackageIsNamed) {
    const ExportedCase files("sum");
    if (rank_of(world) == 0) std::filesystem::remove(files.folder() / "net.pt2");
    MPI_Barrier(world);
    expect(load(files.path()), SURROGATE_IO, files.folder() / "net.pt2");
}

TEST_F(ExportedErrors, ModelInMemoryIsDescribedButNotPlanned) {
    const ExportedCase files("sum");
    const std::string bytes = bytes_of(files.path());
    const Model model(context, bytes.data(), std::ssize(bytes));
    EXPECT_NE(model.describe().find("net.pt2"), std::string::npos);
    expect(plan(model, {{"allow_code", "true"}}), SURROGATE_NOT_SUPPORTED,
           "the model was loaded from memory; load it by its path");
}

TEST_F(ExportedErrors, CodeMustBeAllowed) {
    const ExportedCase files("sum");
    const Model model(context, files.path());
    EXPECT_EQ(model.family(), "torch");
    expect(plan(model, {}), SURROGATE_NOT_SUPPORTED,
           "package 'net.pt2' contains machine code, and option allow_code is false");
    expect(plan(model, {{"allow_code", "true"}, {"gradients", "true"}}), SURROGATE_NOT_SUPPORTED,
           "cannot be trained");
    expect(plan(model, {{"allow_code", "true"}, {"gradients", "inputs"}}), SURROGATE_NOT_SUPPORTED,
           "gradients");
    expect(plan(model, {{"allow_code", "true"}, {"reproducible", "true"}}), SURROGATE_NOT_SUPPORTED,
           "has no reproducible mode");
    expect(plan(model, {{"allow_code", "true"}, {"precision", "fp64"}}), SURROGATE_NOT_SUPPORTED,
           "precision is fp64, and the package 'net.pt2' computes in float32; set precision=fp32");
}

// Runs where neither the plug-in nor the one of the other tests is found.
TEST_F(ExportedErrors, MissingPluginIsReported) {
#ifdef SURROGATE_HAVE_TORCH
    GTEST_SKIP() << "the plug-in for PyTorch is built";
#else
    const ExportedCase files("sum");
    const Model model(context, files.path());
    expect(plan(model, {{"allow_code", "true"}}), SURROGATE_NOT_SUPPORTED, "SURROGATE_TORCH=ON");
#endif
}

}  // namespace
}  // namespace surrogate::test
