// SPDX-License-Identifier: Apache-2.0
// `surrogate spectrum` against the eigenvalues of the official code, stored in the golden files.
#include <cmath>
#include <map>
#include <vector>

#include "tests/coupling/tool/tool_case.hpp"

namespace surrogate::test {
namespace {

const std::string flare = SURROGATE_TEST_DATA "/flare/";

class Spectrum : public ToolTest {
protected:
    /// (sample, block, head, number from 1) -> eigenvalue, of --csv.
    std::map<std::array<int, 4>, double> run(const std::string& model, const std::string& options,
                                             const std::string& launcher = "") const {
        const std::string csv = file("all.csv");
        const Outcome outcome = shell(launcher + " " SURROGATE_PROGRAM " spectrum " + model +
                                      " --overwrite --csv " + csv + " " + options);
        EXPECT_EQ(outcome.status, 0) << outcome.text;
        std::istringstream lines(read(csv));
        std::string line;
        std::getline(lines, line);
        EXPECT_EQ(line, "sample,block,head,number,eigenvalue");
        std::map<std::array<int, 4>, double> values;
        while (std::getline(lines, line)) {
            std::array<int, 4> key{};
            double value = -1;
            EXPECT_EQ(std::sscanf(line.c_str(), "%d,%d,%d,%d,%lf", &key[0], &key[1], &key[2],
                                  &key[3], &value),
                      5)
                << line;
            values[key] = value;
        }
        return values;
    }

    /// Compares with check/spectrum64/blocks.i (sample, head, number): `tolerance` of the largest
    /// eigenvalue, which is 1.
    void expect_golden(const std::string& model, double tolerance, const std::string& options = "",
                       const std::string& launcher = "") const {
        const auto found = run(model, options, launcher);
        const TensorFile golden(model);
        size_t n = 0;
        for (int block = 0;; ++block) {
            const std::string name = "check/spectrum64/blocks." + std::to_string(block);
            if (!golden.header.contains(name)) break;
            const auto shape = golden.header[name]["shape"].get<std::vector<int>>();
            for (int i = 0; i < shape[0] * shape[1] * shape[2]; ++i, ++n) {
                double wanted = 0;
                std::memcpy(&wanted, golden.bytes.data() + golden.offset(name) + size_t(i) * 8, 8);
                const int number = i % shape[2], head = i / shape[2] % shape[1],
                          sample = i / shape[2] / shape[1];
                const auto value = found.find({sample, block, head, number + 1});
                ASSERT_NE(value, found.end()) << name << " " << sample << " " << head;
                EXPECT_NEAR(value->second, wanted, tolerance)
                    << name << " " << head << " " << number;
            }
        }
        EXPECT_GT(n, 0u);
        EXPECT_EQ(found.size(), n);
    }
};

// The weights and inputs of the golden files are single, all else is double: 1e-12 is a thousand
// times the rounding of T. (tiny: case 1 of the specification, 0.07855306, 0.02947697 in head 0.)
TEST_F(Spectrum, AgreesWithTheOfficialCode) {
    for (const char* name : {"tiny", "tiny_options", "odd", "mid"})
        expect_golden(flare + name + ".safetensors", 1e-12);
}

TEST_F(Spectrum, OfANetworkInSinglePrecisionIsGoodToItsRounding) {
    expect_golden(flare + "odd.safetensors", 1e-4, "--precision fp32");
    expect_golden(flare + "mid.safetensors", 1e-5, "--precision fp32");
}

TEST_F(Spectrum, OfOneBlockIsPartOfAll) {
    const auto all = run(odd, ""), one = run(odd, "--block 1");
    EXPECT_EQ(2 * one.size(), all.size());
    for (const auto& [key, value] : one) {
        EXPECT_EQ(key[1], 1);
        EXPECT_EQ(value, all.at(key));
    }
}

TEST_F(Spectrum, HasAtMostAsManyValuesAsPoints) {
    const auto all = run(flare + "ablation_shared.safetensors", "");  // other names, shared latents
    EXPECT_EQ(all.size(), 2u * 4 * 5);
    for (const auto& [key, value] : all) {
        EXPECT_TRUE(key[3] != 1 || std::abs(value - 1) < 1e-12) << value;
        EXPECT_GE(value, 0);
        EXPECT_LE(value, 1 + 1e-12);
    }
}

TEST_F(Spectrum, TheTableHasALineABlockAndHead) {
    const Outcome outcome = surrogate("spectrum " + tiny);
    EXPECT_EQ(outcome.status, 0);
    for (const char* part : {"3 latents, 5 points, 1 sample", "effective rank", "0.0786", "0.359"})
        EXPECT_NE(outcome.text.find(part), std::string::npos) << part << " in\n" << outcome.text;
}

TEST_F(Spectrum, WhatHasNoneIsRefused) {
    const auto expect = [&](int status, const std::string& arguments, const std::string& words) {
        const Outcome outcome = surrogate("spectrum " + arguments);
        EXPECT_EQ(outcome.status, status) << arguments;
        EXPECT_NE(outcome.text.find(words), std::string::npos) << arguments << ": " << outcome.text;
    };
    expect(2, sphere + "transformer_neighborhood_24x48.safetensors", "family sphere");
    expect(2, flare + "lra_mean_sin.safetensors", "sequence classifier");
    expect(2, flare + "physicsnemo_small.safetensors", "FLARE of PhysicsNeMo");
    expect(2, flare + "ablation_latent_blocks.safetensors", "num_latent_blocks");
    expect(2, tiny + " --block 2", "the blocks 0 .. 1");
    expect(2, tiny + " --precision bf16", "fp64 or fp32");
    expect(3, tiny_with("check/input/x", "check/input/q"), "--mesh FILE");
    expect(2, tiny + " --csv " + tiny, "would replace");
    expect(2, tiny + " --block -1", "--block is -1; the model has the blocks 0 .. ");
    write(file("old.csv"), "mine");
    expect(2, tiny + " --csv " + file("old.csv"), "--overwrite replaces it");
    EXPECT_EQ(read(file("old.csv")), "mine");
    expect(2, tiny + " --csv " + file("no/all.csv"), "no/all.csv");
}

#ifdef SURROGATE_HAS_CHART
TEST_F(Spectrum, PictureIsAPng) {
    for (const char* block : {"", " --block 0"}) {
        const std::string png = file(std::string("all") + block + ".png");
        const Outcome outcome = surrogate("spectrum " + odd + " --plot '" + png + "'" + block);
        EXPECT_EQ(outcome.status, 0) << outcome.text;
        EXPECT_EQ(read(png).substr(1, 3), "PNG");
    }
}

TEST_F(Spectrum, OfAMeshIsThatOfItsPoints) {
    // The 1600 cell centers of the check case's square, as points of an image: the same operator.
    std::ostringstream mesh;
    mesh << "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\"><ImageData "
            "WholeExtent=\"0 39 0 39 0 0\" Origin=\"0.0125 0.0125 0\" Spacing=\"0.025 0.025 1\">"
            "<Piece Extent=\"0 39 0 39 0 0\"><PointData><DataArray type=\"Float64\" "
            "Name=\"mobility\" format=\"ascii\">";
    const TensorFile model(darcy);
    const json card =
        json::parse(model.header["__metadata__"]["surrogate.card"].get<std::string>());
    const double mean = card["inputs"][2]["mean"], std = card["inputs"][2]["std"];
    std::map<std::pair<int, int>, double> field;  // (row, column) of the image
    for (size_t i = 0; i < 1600; ++i) {
        float x[3];
        std::memcpy(x, model.bytes.data() + model.offset("check/input/x") + i * 12, 12);
        const auto cell = [&](size_t axis) {
            const double place = x[axis] * card["inputs"][axis]["std"].get<double>() +
                                 card["inputs"][axis]["mean"].get<double>();
            return static_cast<int>(std::lround((place - 0.0125) / 0.025));
        };
        field[{cell(1), cell(0)}] = x[2] * std + mean;
    }
    ASSERT_EQ(field.size(), 1600u);
    for (const auto& [place, value] : field) mesh << value << ' ';
    mesh << "</DataArray></PointData></Piece></ImageData></VTKFile>";
    write(file("square.vti"), mesh.str());
    const auto of_mesh = run(darcy, "--block 1 --mesh " + file("square.vti"));
    const auto of_case = run(darcy, "--block 1");
    // Fields are written with 6 digits.
    for (const auto& [key, value] : of_mesh) EXPECT_NEAR(value, of_case.at(key), 1e-4);
    EXPECT_EQ(of_mesh.size(), 8u * 64);
}
#endif

#ifdef SURROGATE_MPIRUN
TEST_F(Spectrum, IsTheSameOnRanksWithoutPointsToo) {
    expect_golden(odd, 1e-12, "", SURROGATE_MPIRUN " 3");
    expect_golden(tiny, 1e-12, "", SURROGATE_MPIRUN " 7");  // 5 points, 2 heads
}
#endif

}  // namespace
}  // namespace surrogate::test
