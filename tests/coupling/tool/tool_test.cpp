// SPDX-License-Identifier: Apache-2.0
// The program `surrogate` as a shell sees it: exit status, report, files.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

#include "tests/coupling/tool/tool_case.hpp"

namespace surrogate::test {
namespace {

const std::set<std::string> keys = {"file",
                                    "family",
                                    "ranks",
                                    "partition",
                                    "backend",
                                    "precision",
                                    "reproducible",
                                    "threads",
                                    "vector",
                                    "relative_l2",
                                    "max_abs",
                                    "truth",
                                    "hash",
                                    "passed",
                                    "official_relative_l2",
                                    "bytes_sent_per_rank",
                                    "seconds_plan",
                                    "seconds_run",
                                    "collectives"};

std::set<std::string> keys_of(const json& report) {
    std::set<std::string> found;
    for (const auto& [key, value] : report.items()) found.insert(key);
    return found;
}

TEST_F(ToolTest, PassedCheckReportsAllKeys) {
    const json report = check(0, odd + " --partition scattered --threads 1 --backend ref");
    EXPECT_EQ(keys_of(report), keys);
    EXPECT_EQ(report["file"], odd);
    EXPECT_EQ(report["family"], "flare");
    EXPECT_EQ(report["ranks"], 1);
    EXPECT_EQ(report["partition"], "scattered");
    EXPECT_EQ(report["backend"], "ref");
    EXPECT_EQ(report["precision"], "fp32");
    EXPECT_EQ(report["reproducible"], false);
    EXPECT_EQ(report["threads"], 1);
    EXPECT_EQ(report["passed"], true);
    EXPECT_EQ(report["hash"].get<std::string>().size(), 16u);
    EXPECT_EQ(report["collectives"], 4);
    EXPECT_EQ(report["bytes_sent_per_rank"], 2 * 4 * 24 * (40 + 2 * 5));
    EXPECT_GT(report["seconds_plan"], 0);
    EXPECT_GT(report["seconds_run"], 0);
    EXPECT_GT(report["official_relative_l2"], 1e-8);
    EXPECT_LE(report["relative_l2"], 2e-6);
}

TEST_F(ToolTest, WrongAnswerIsStatusOne) {
    const json report = check(1, tiny_with_shifted_bias());
    EXPECT_EQ(report["passed"], false);
    EXPECT_GT(report["relative_l2"], 1e-5);
    EXPECT_NE(report["error"].get<std::string>().find("relative_l2"), std::string::npos);
}

TEST_F(ToolTest, FileThatIsNoModelIsStatusTwo) {
    write(file("garbage"), "this is not a model file");
    EXPECT_NE(check(2, file("garbage"))["error"], "");
    const json missing = check(2, file("missing"));
    EXPECT_NE(missing["error"].get<std::string>().find("missing"), std::string::npos) << missing;
    EXPECT_EQ(missing["passed"], false);
    auto expected = keys;
    expected.insert("error");
    EXPECT_EQ(keys_of(missing), expected);
}

TEST_F(ToolTest, RefusedOptionsAreStatusTwoWithAReport) {
    for (const char* options : {"--partition diagonal", "--precision bf16", "--precision fp8",
                                "--backend cuda --precision fp64", "--vector sse", "--threads 0",
                                "--precision fp64 --backend simd", "--no-such-option"}) {
        const json report = check(2, tiny + " " + options);
        EXPECT_NE(report.value("error", ""), "") << options;
        EXPECT_EQ(report["passed"], false) << options;
        EXPECT_EQ(report["file"], tiny) << options;
    }
}

TEST_F(ToolTest, NoCheckCaseIsStatusThree) {
    const json report = check(3, tiny_with("check/output", "check/outsid"));
    EXPECT_NE(report["error"].get<std::string>().find("check case"), std::string::npos) << report;
    check(3, tiny_with("check/input/x", "check/input/q"));
}

TEST_F(ToolTest, FamilyThatIsNotBuiltIsStatusThree) {
    const json report =
        check(3, tiny_with("\"family\\\": \\\"flare\\\"", "\"family\\\": \\\"other\\\""));
    EXPECT_NE(report["error"].get<std::string>().find("other"), std::string::npos) << report;
}

TEST_F(ToolTest, SavedPredictionIsTheOneThatWasHashed) {
    const json report = check(0, odd + " --save " + file("y.safetensors"));
    const TensorFile saved(file("y.safetensors"));
    EXPECT_EQ(saved.header["y"]["dtype"], "F32");
    EXPECT_EQ(saved.header["y"]["shape"], json({2, 131, 2}));
    EXPECT_EQ(saved.data % 8, 0u);
    const std::string data = saved.bytes.substr(saved.data);
    ASSERT_EQ(data.size(), 2u * 131 * 2 * 4);
    char hash[17];
    std::snprintf(hash, sizeof hash, "%016llx",
                  static_cast<unsigned long long>(XXH3_64bits(data.data(), data.size())));
    EXPECT_EQ(report["hash"], hash);
}

TEST_F(ToolTest, DoublePrecisionIsJudgedAndSavedInDouble) {
    const json report = check(0, tiny + " --precision fp64 --backend ref --save " + file("y"));
    EXPECT_EQ(report["precision"], "fp64");
    EXPECT_LE(report["relative_l2"], 1e-10);
    EXPECT_EQ(TensorFile(file("y")).header["y"]["dtype"], "F64");
    check(1, tiny_with_shifted_bias() + " --precision fp64 --backend ref");
}

TEST_F(ToolTest, FilesThatCannotBeWrittenAreStatusTwo) {
    EXPECT_EQ(surrogate("check " + tiny + " --json " + file("no/folder.json")).status, 2);
    check(2, tiny + " --save " + file("no/folder.safetensors"));
}

TEST_F(ToolTest, SavedPredictionOnASphereHasTheMemoryOrderOfTheOfficialOne) {
    const std::string two_samples = sphere + "transformer_heads_bias_33x64.safetensors";
    const json report = check(0, two_samples + " --partition scattered --save " + file("y"));
    EXPECT_EQ(keys_of(report), keys);
    EXPECT_EQ(report["family"], "sphere");
    const TensorFile saved(file("y")), model(two_samples);
    EXPECT_EQ(saved.header["y"]["shape"], json({2, 2, 33, 64}));
    const size_t n = 2 * 2 * 33 * 64;
    double largest = 0;
    for (size_t i = 0; i < n; ++i) {
        float found = 0, wanted = 0;
        std::memcpy(&found, saved.bytes.data() + saved.offset("y") + i * 4, 4);
        std::memcpy(&wanted, model.bytes.data() + model.offset("check/output/y") + i * 4, 4);
        largest = std::max(largest, std::abs(double(found) - double(wanted)));
    }
    EXPECT_LE(largest, 1e-5);
    char hash[17];
    std::snprintf(hash, sizeof hash, "%016llx",
                  static_cast<unsigned long long>(
                      XXH3_64bits(saved.bytes.data() + saved.data, n * sizeof(float))));
    EXPECT_EQ(report["hash"], hash);
}

TEST_F(ToolTest, DataForTestsOfTheSphereAreNoCheckCase) {
    for (const char* name : {"sht_0", "sht_1", "swe_0_f4", "swe_0_f8"}) {
        const json report = check(3, sphere + "operators/" + name + ".safetensors");
        EXPECT_NE(report["error"].get<std::string>().find("check case"), std::string::npos);
    }
    // Without a card it is no model file either.
    check(2, sphere + "operators/grid.safetensors");
}

TEST_F(ToolTest, TensorsThatDoNotFitTheNetworkAreNamed) {
    // The same number of values in another shape.
    std::string bytes = read(sphere + "operators/attention_2.safetensors");
    const std::string from = "[1,8,6,12]", to = "[1,8,12,6]";
    const size_t at = bytes.find(from, bytes.find("check/input/query"));
    ASSERT_NE(at, std::string::npos);
    write(file("turned.safetensors"), bytes.replace(at, from.size(), to));
    const json report = check(2, file("turned.safetensors"));
    const std::string error = report["error"];
    for (const char* part : {"check/input/query", "(1, 8, 12, 6)", "(any, 8, 6, 12)", "n_lat"})
        EXPECT_NE(error.find(part), std::string::npos) << part << " in " << error;
}

TEST_F(ToolTest, ATensorThatIsMissingIsNamed) {
    std::string bytes = read(sphere + "operators/attention_2.safetensors");
    const size_t at = bytes.find("check/input/value");
    ASSERT_NE(at, std::string::npos);
    write(file("missing.safetensors"), bytes.replace(at, 17, "check/input/valve"));
    const json report = check(3, file("missing.safetensors"));
    EXPECT_NE(report["error"].get<std::string>().find("check/input/value"), std::string::npos);
}

TEST_F(ToolTest, InfoTellsGridsAndChannelsOfTheSphere) {
    const Outcome model = surrogate("info " SURROGATE_SHARE "/models/shallow_water.safetensors");
    EXPECT_EQ(model.status, 0);
    for (const char* part : {"legendre-gauss 64 x 128", "x 3 -> y 3", "vorticity", "1/s",
                             "a rank on 1 rank", "input/x [1,3,64,128]"})
        EXPECT_NE(model.text.find(part), std::string::npos) << part << " in\n" << model.text;
    const Outcome layer = surrogate("info " + sphere + "operators/attention_5.safetensors");
    EXPECT_EQ(layer.status, 0);
    for (const char* part :
         {"equiangular 8 x 24 -> lobatto 5 x 12", "query 6 (at the output points)",
          "value 6 -> y 9", "input/key [1,6,8,24]"})
        EXPECT_NE(layer.text.find(part), std::string::npos) << part << " in\n" << layer.text;
}

TEST_F(ToolTest, InfoTellsWhatAModelIs) {
    const Outcome outcome = surrogate("info " + darcy);
    EXPECT_EQ(outcome.status, 0);
    for (const char* part :
         {"flare", "200,897", "mobility", "m^2/(Pa s)", "3 .. 12", "pressure", "Pa", "[4,1600,3]",
          "a point", "Apache-2.0", "2 features of 4800 samples, 99 % within distance 2.131"})
        EXPECT_NE(outcome.text.find(part), std::string::npos) << part << " in\n" << outcome.text;
    EXPECT_EQ(surrogate("info " + tiny).status, 0);
    EXPECT_EQ(surrogate("info " + file("missing")).status, 2);
}

TEST_F(ToolTest, InfoWithoutModelTellsWhatTheMachineOffers) {
    const Outcome outcome = surrogate("info");
    EXPECT_EQ(outcome.status, 0);
    for (const char* part : {"surrogate 0.", "MPI", "threads", "vector"})
        EXPECT_NE(outcome.text.find(part), std::string::npos) << part << " in\n" << outcome.text;
}

TEST_F(ToolTest, CommandLine) {
    EXPECT_EQ(surrogate("--version").status, 0);
    EXPECT_NE(surrogate("--version").text.find("surrogate 0."), std::string::npos);
    EXPECT_EQ(surrogate("--help").status, 0);
    EXPECT_NE(surrogate("check --help").text.find("Exit status"), std::string::npos);
    EXPECT_NE(surrogate("-V").text.find("surrogate 0."), std::string::npos);
    EXPECT_EQ(surrogate("help").text, surrogate("--help").text);
    EXPECT_EQ(surrogate("help check").text, surrogate("check --help").text);
    for (const char* verb :
         {"info", "check", "predict", "evaluate", "convert", "spectrum", "bench", "train"})
        for (const char* part : {"Exit status: 0", "Example: "})
            EXPECT_NE(surrogate(std::string("help ") + verb).text.find(part), std::string::npos)
                << verb << " " << part;
    EXPECT_EQ(surrogate("").status, 2);
    EXPECT_EQ(surrogate("dance").status, 2);
    EXPECT_EQ(surrogate("check").status, 2);
    EXPECT_EQ(surrogate("info a b").status, 2);
}

TEST_F(ToolTest, MisspeltWordsAreAnsweredWithTheNearOnes) {
    const auto says = [](const std::string& arguments, const std::string& part) {
        const Outcome outcome = surrogate(arguments);
        EXPECT_EQ(outcome.status, 2) << arguments;
        EXPECT_NE(outcome.text.find(part), std::string::npos) << arguments << ": " << outcome.text;
    };
    says("chekc " + tiny, "did you mean 'check'?");
    says("help chekc", "did you mean 'check'?");
    says("dance",
         "is not a command (info, check, predict, evaluate, convert, create, spectrum, bench, "
         "train)");
    says("check " + tiny + " --thread 2", "--thread; did you mean '--threads'?");
    says("check " + tiny + " --reproducable", "did you mean '--reproducible'?");
    says("predict " + tiny + " --mash a.vtu --out b.vtu", "did you mean '--mesh'?");
    says("info --memroy " + tiny, "did you mean '--memory'?");
}

TEST_F(ToolTest, EveryRefusalBeginsWithTheNameOfTheProgram) {
    for (const std::string& arguments : {std::string(), std::string("dance"), "info --jsn " + tiny,
                                         "bench " + tiny + " --points 1e5",
                                         std::string("info none.safetensors"), "convert " + tiny})
        EXPECT_TRUE(surrogate(arguments).text.starts_with("surrogate: "))
            << arguments << ": " << surrogate(arguments).text;
}

#ifdef SURROGATE_MPIRUN

size_t count(const std::string& text, const std::string& part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

TEST_F(ToolTest, ThreeRanksReportOnceAndAgreeWithOne) {
    const json one = check(0, odd + " --reproducible --backend ref");
    const json three =
        check(0, odd + " --reproducible --backend ref --partition uneven", SURROGATE_MPIRUN " 3");
    EXPECT_EQ(three["ranks"], 3);
    EXPECT_EQ(three["hash"], one["hash"]);
    const Outcome outcome = shell(SURROGATE_MPIRUN " 3 " SURROGATE_PROGRAM " check " + odd);
    EXPECT_EQ(count(outcome.text, "relative L2 error"), 1u) << outcome.text;
}

TEST_F(ToolTest, RanksOnASphereAgreeWithOneToTheBit) {
    const std::string model = sphere + "operators/attention_5.safetensors --reproducible";
    const json one = check(0, model);
    const json five = check(0, model + " --partition uneven", SURROGATE_MPIRUN " 5");
    EXPECT_EQ(five["ranks"], 5);
    EXPECT_EQ(five["hash"], one["hash"]);
}

TEST_F(ToolTest, ThreeRanksFailWithOneStatusAndOneText) {
    write(file("garbage"), std::string(100, 'x'));
    check(2, file("garbage"), SURROGATE_MPIRUN " 3");
    check(2, tiny + " --no-such-option", SURROGATE_MPIRUN " 3");
    check(3, tiny_with("check/output", "check/outsid"), SURROGATE_MPIRUN " 3");
    check(1, tiny_with_shifted_bias(), SURROGATE_MPIRUN " 3");
    const Outcome outcome =
        shell(SURROGATE_MPIRUN " 3 " SURROGATE_PROGRAM " check " + file("missing"));
    EXPECT_EQ(count(outcome.text, "surrogate check: "), 1u) << outcome.text;
}

#endif

}  // namespace
}  // namespace surrogate::test
