// SPDX-License-Identifier: Apache-2.0
// `surrogate bench`: numbers that can be counted by hand, and times that are only looked at for
// sense.
#include "coupling/tool/layer_costs.hpp"
#include "tests/coupling/tool/tool_case.hpp"

namespace surrogate::test {
namespace {

class Bench : public ToolTest {
protected:
    json run(const std::string& arguments, const std::string& launcher = "") const {
        const std::string report = file("bench.json");
        const Outcome outcome = shell(launcher + " " SURROGATE_PROGRAM " bench " + arguments +
                                      " --runs 2 --overwrite --json " + report);
        EXPECT_EQ(outcome.status, 0) << outcome.text;
        return json::parse(read(report), nullptr, false);
    }
};

TEST(LayerCosts, AreReadFromATableWithNamesOfSeveralWords) {
    const auto layers = tool::parse_layers(
        "flare on 5 points, 5 of them computed by this rank\nworkspace 12 bytes\n\n"
        "layer                          Mflop     Mexp      bytes  collectives  messages\n"
        "in_proj                         0.25        0          0            0         0\n"
        "blocks.0 k, v, encode           1e+3      2.5       4096            2         1\n"
        "layer 0                            2        1          8            1         1\n"
        "total of this rank                 9        9          9            9         9\n"
        "a note of 1 2 3 4 5\n");
    ASSERT_EQ(layers.size(), 3u);
    EXPECT_EQ(layers[1].name, "blocks.0 k, v, encode");
    EXPECT_EQ(layers[1].flops, 1e9);
    EXPECT_EQ(layers[1].exponentials, 2.5e6);
    EXPECT_EQ(layers[1].bytes, 4096);
    EXPECT_EQ(layers[1].collectives, 2);
    EXPECT_EQ(layers[2].name, "layer 0");
    EXPECT_EQ(layers[2].flops, 2e6);
    EXPECT_TRUE(tool::parse_layers("no table 1 2 3 4 5\n").empty());
}

// FLARE: 2 N H M exponentials a block (encode and decode), and multiply-adds by the shapes of its
// layers: darcy_flow has C 64, 4 blocks, 8 heads of 8, M 64, all chains of 3 layers.
TEST_F(Bench, CountsTheWorkOfARun) {
    const double n = 1000, c = 64, m = 64, blocks = 4;
    const json report = run(darcy + " --points 1000 --threads 1");
    EXPECT_EQ(report["points"], 1000);
    EXPECT_EQ(report["plan"]["threads"], "1");
    const double pairs = n * 8 * m;
    EXPECT_NEAR(report["exponentials"].get<double>() / (2 * pairs * blocks), 1, 0.01);
    const double chain = 3 * c * c;
    const double flops =
        2 * n * ((3 * c + 2 * c * c) + (2 * c * c + c) + blocks * (3 * chain + c * c + 4 * m * c));
    EXPECT_NEAR(report["flops"].get<double>() / flops, 1, 0.01);
    EXPECT_GT(report["layers"].size(), 8u);
    EXPECT_GT(report["seconds_best"], 0);
    EXPECT_LE(report["seconds_best"], report["seconds_median"]);
    EXPECT_GT(report["limits"]["multiply_adds_per_second"], 1e8);
    EXPECT_GT(report["limits"]["exponentials_per_second"], 1e7);
    EXPECT_LT(report["limits"]["exponentials_per_second"].get<double>(),
              report["limits"]["multiply_adds_per_second"].get<double>());
    EXPECT_GT(report["limits"]["memory_bytes_per_second"], 1e7);
}

TEST_F(Bench, RunsEveryFamily) {
    for (const char* model :
         {"/sphere/transformer_neighborhood_24x48.safetensors", "/bsa/bsa_small_grad.safetensors",
          "/sequoia/points_small_grad.safetensors", "/hept/odd_zero.safetensors"}) {
        const json report = run(std::string(SURROGATE_TEST_DATA) + model + " --points 500");
        EXPECT_GT(report["seconds_best"], 0) << model;
        EXPECT_GT(report["workspace_bytes"], 0) << model;
        int n_with_exponentials = 0;  // every attention layer has some
        for (const json& layer : report["layers"]) n_with_exponentials += layer["exponentials"] > 0;
        EXPECT_GE(n_with_exponentials, 2) << model;
    }
}

TEST_F(Bench, LinesSayWhatIsMeasured) {
    const Outcome outcome = surrogate("bench " + darcy + " --points 200 --runs 1");
    EXPECT_EQ(outcome.status, 0);
    for (const char* part : {"200 on 1 x", "a point and core", "share of the limit",
                             "multiply-adds", "blocks.0", "seconds at the limit"})
        EXPECT_NE(outcome.text.find(part), std::string::npos) << part << " in\n" << outcome.text;
}

TEST_F(Bench, WhatCannotBeIsRefused) {
    EXPECT_EQ(surrogate("bench " + darcy + " --points 0").status, 2);
    EXPECT_EQ(surrogate("bench " + darcy + " --runs 0").status, 2);
    EXPECT_EQ(surrogate("bench " + darcy + " --points many").status, 2);
    for (const char* n : {"9223372036854775807", "2305843009213693952"}) {
        const Outcome outcome = surrogate("bench " + darcy + " --points " + n);
        EXPECT_EQ(outcome.status, 2) << outcome.text;
        EXPECT_NE(outcome.text.find(std::string("--points is ") + n), std::string::npos)
            << outcome.text;
        EXPECT_EQ(outcome.text.find("MPI_ABORT"), std::string::npos) << outcome.text;
    }
    EXPECT_EQ(surrogate("bench " + darcy + " --backend fast").status, 2);
    EXPECT_EQ(surrogate("bench " + file("none")).status, 2);
    write(file("old.json"), "mine");
    EXPECT_EQ(surrogate("bench " + darcy + " --json " + file("old.json")).status, 2);
    EXPECT_EQ(read(file("old.json")), "mine");
}

#ifdef SURROGATE_MPIRUN
TEST_F(Bench, RanksShareTheWork) {
    const json one = run(darcy + " --points 999 --threads 1");
    const json three = run(darcy + " --points 999 --threads 1", SURROGATE_MPIRUN " 3");
    EXPECT_EQ(three["ranks"], 3);
    EXPECT_EQ(three["points"], 999);
    EXPECT_NEAR(three["exponentials"].get<double>() / one["exponentials"].get<double>(), 1, 0.02);
    EXPECT_EQ(three["bytes_sent"],
              3 * one["bytes_sent"].get<double>());  // handed to the communicator
}
#endif

}  // namespace
}  // namespace surrogate::test
