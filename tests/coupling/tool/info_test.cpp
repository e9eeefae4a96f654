// SPDX-License-Identifier: Apache-2.0
// `surrogate info` for programs, and the help of every command.
#include <algorithm>

#include "tests/coupling/tool/tool_case.hpp"

namespace surrogate::test {
namespace {

json parsed(const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    return json::parse(outcome.text, nullptr, false);
}

TEST_F(ToolTest, InfoAsJsonHasTheNumbersOfTheCard) {
    const json about = parsed(surrogate("info --json " + darcy));
    ASSERT_TRUE(about.is_object());
    EXPECT_EQ(about["file"], darcy);
    EXPECT_EQ(about["family"], "flare");
    EXPECT_EQ(about["hash"].get<std::string>().size(), 16u);
    EXPECT_EQ(about["parameters"], 200897);
    EXPECT_EQ(about["input_domain"]["kind"], "points");
    EXPECT_EQ(about["network"]["num_latents"], 64);
    ASSERT_EQ(about["inputs"].size(), 3u);
    EXPECT_EQ(about["inputs"][1]["role"], "coordinate");
    EXPECT_EQ(about["inputs"][1]["axis"], 1);
    EXPECT_EQ(about["inputs"][2]["name"], "mobility");
    EXPECT_EQ(about["inputs"][2]["unit"], "m^2/(Pa s)");
    EXPECT_EQ(about["inputs"][2]["min"], 3.0);
    EXPECT_EQ(about["inputs"][2]["max"], 12.0);
    EXPECT_EQ(about["outputs"][0]["name"], "pressure");
    EXPECT_EQ(about["ports"][0]["name"], "x");
    EXPECT_EQ(about["ports"][0]["channels"], 3);
    EXPECT_EQ(about["pooled"]["samples"], 4800);
    EXPECT_EQ(about["check_case"]["truth"], "double");
    EXPECT_EQ(about["check_case"]["is_usable"], true);
    EXPECT_GT(about["memory"]["bytes_a_point"], 100);
    EXPECT_LT(about["memory"]["bytes_a_point"], 10000);
    EXPECT_EQ(about["memory"]["ranks"], 1);
}

/// Otherwise the numbers would come from fewer points than in other runs.
TEST_F(ToolTest, InfoWithoutMemoryForItsTrialPlanIsAnError) {
    const std::string environment = "LD_PRELOAD=" SURROGATE_FAILING_MEMORY;
    const Outcome outcome = shell(
        environment + " SURROGATE_FAIL_MEMORY_FROM=1000000 " SURROGATE_PROGRAM " info " + tiny);
    EXPECT_EQ(outcome.status, 2) << outcome.text;
    EXPECT_EQ(outcome.text, "surrogate: out of memory\n");
}

TEST_F(ToolTest, InfoShowsTheFirstLineOfALongText) {
    const std::string shipped = SURROGATE_SHARE "/models/darcy_flow.safetensors";
    const std::string text = surrogate("info " + shipped).text;
    const json about = parsed(surrogate("info --json " + shipped));
    const auto configuration = about["provenance"]["configuration"].get<std::string>();
    const auto n_line = std::count(configuration.begin(), configuration.end(), '\n');
    ASSERT_GT(n_line, 5);
    EXPECT_NE(text.find("[model] .. (" + std::to_string(n_line) + " lines; --json has them)"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("\\x0a"), std::string::npos) << text;
}

TEST_F(ToolTest, InfoAsJsonOfABareNetworkAndOfAGrid) {
    const json bare = parsed(surrogate("info --json " + tiny));
    EXPECT_EQ(bare["inputs"], json::array());
    EXPECT_EQ(bare["pooled"], nullptr);
    const json grid =
        parsed(surrogate("info --json " + sphere + "transformer_neighborhood_24x48.safetensors"));
    EXPECT_EQ(grid["input_domain"]["n_lat"], 24);
    EXPECT_EQ(grid["memory"]["bytes_a_point"], nullptr);
    EXPECT_GT(grid["memory"]["bytes_a_rank"], 1000);
    const json build = parsed(surrogate("info --json"));
    EXPECT_TRUE(build["mpi"].is_boolean());
    EXPECT_FALSE(build["machine"].get<std::string>().empty());
}

TEST_F(ToolTest, InfoPrintsTheCardWithoutChecksums) {
    const json card = parsed(surrogate("info --card " + darcy));
    const TensorFile model(darcy);
    json wanted = json::parse(model.header["__metadata__"]["surrogate.card"].get<std::string>());
    wanted.erase("checksums");
    EXPECT_EQ(card, wanted);
    EXPECT_EQ(surrogate("info --card").status, 2);
    EXPECT_EQ(surrogate("info --card --json " + darcy).status, 2);
}

TEST_F(ToolTest, InfoAsJsonIsAscii) {
    const std::string text = surrogate("info --json " + tiny_with("official",
                                                                  "offi\xC3\xA9"
                                                                  "al"))
                                 .text;
    for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int(c);
}

/// Every option of every command says what it takes and what holds without it.
TEST_F(ToolTest, HelpNamesValuesAndDefaults) {
    const auto says = [](const std::string& verb, std::initializer_list<const char*> parts) {
        const std::string text = surrogate("help " + verb).text;
        for (const char* part : parts)
            EXPECT_NE(text.find(part), std::string::npos) << verb << ": " << part << "\n" << text;
    };
    says("check", {"contiguous|scattered|uneven", "default: contiguous", "auto|ref|simd|cuda",
                   "fp32|fp64|tf32|fp16|bf16", "auto|avx512|avx2|neon|scalar"});
    says("predict", {"points|cells", "FIELD=ARRAY", "auto|ref|simd|cuda", "default: auto"});
    says("info", {"--json", "--card", "256 MB"});
    for (const char* verb : {"info", "check", "predict", "convert", "spectrum", "bench", "train"})
        EXPECT_EQ(surrogate(std::string("help ") + verb).text.find("TEXT"), std::string::npos)
            << verb << " has an option of unknown values";
}

}  // namespace
}  // namespace surrogate::test
