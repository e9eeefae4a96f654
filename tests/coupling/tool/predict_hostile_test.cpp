// SPDX-License-Identifier: Apache-2.0
// `surrogate predict` on malformed mesh files as an attacker would write them, at points and at
// cells: status 2 and the same text on every rank, no output, no rank waits.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/coupling/mesh/hostile_meshes.hpp"
#include "tests/coupling/tool/predict_job.hpp"

namespace surrogate::test {
namespace {

using Meshes = MeshFolder;

void write_hostile(const std::string& folder) {
    for (const HostileMesh& mesh : all_hostile_meshes()) {
        std::filesystem::create_directory(folder + mesh.name);
        mesh.write(folder + mesh.name);
    }
}

[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new Meshes(write_hostile));

class PredictRefusesHostileMesh : public testing::TestWithParam<HostileMesh> {};

TEST_P(PredictRefusesHostileMesh, MeshesAtPointsAndAtCells) {
    const HostileMesh& mesh = GetParam();
    const std::string file = mesh.files.front().first;
    tool::PredictArguments options;
    options.model = std::string(SURROGATE_SHARE) + "/models/darcy_flow.safetensors";
    options.mesh = Meshes::in(mesh.name + "/" + file);
    options.out = Meshes::in(mesh.name + "/out" + file.substr(file.find('.')));
    options.quiet = true;
    for (const char* at : {"points", "cells"}) {
        options.at = at;
        const std::string text = refusal(options);
        for (const std::string& part : mesh.says) expect_words(text, {part.c_str()});
        EXPECT_NE(text, "no failure");
        EXPECT_FALSE(std::filesystem::exists(options.out));
    }
}

// A process that opens a pipe waits until another process writes.
TEST(PredictRefusesHostile, APipeInPlaceOfAMesh) {
    tool::PredictArguments options;
    options.model = std::string(SURROGATE_SHARE) + "/models/darcy_flow.safetensors";
    options.quiet = true;
    for (const std::string file : {"pipe.vtu", "pipe.pvtu", "pipe.vts"}) {
        options.mesh = Meshes::in(file);
        options.out = Meshes::in("out_of_" + file);
        const int made = Meshes::job().is_root() ? ::mkfifo(options.mesh.c_str(), 0600) : 0;
        EXPECT_EQ(made, 0);
        Meshes::job().barrier();
        expect_words(refusal(options), {file.c_str(), "not a regular file"});
    }
}

INSTANTIATE_TEST_SUITE_P(All, PredictRefusesHostileMesh, testing::ValuesIn(all_hostile_meshes()),
                         [](const auto& mesh) { return mesh.param.name; });

}  // namespace
}  // namespace surrogate::test
